tidemark modules gpt.db end --depth 2; tidemark modules gpt.db --steps 0.. --depth 1 | sed -n 2p
tidemark modules gpt.db 7
