tidemark modules gpt.db --depth 0; tidemark modules gpt.db 1 2 3
