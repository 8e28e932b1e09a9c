tidemark check train.db; tidemark check train.db --allow-unknown; tidemark check train.db --baseline before.db; tidemark check train.db --max-increase 5%
