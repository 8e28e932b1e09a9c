tidemark modules gpt.db --format json --depth 1
