tidemark diff train.db ranks.db --top 1; tidemark diff silent.db before.db; tidemark diff silent.db silent.db --format json
