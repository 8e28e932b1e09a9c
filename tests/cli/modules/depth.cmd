tidemark modules gpt.db --depth 2; tidemark modules gpt.db --depth 1 0/forward
