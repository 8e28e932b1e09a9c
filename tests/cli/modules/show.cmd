tidemark show gpt.db train.py:9; tidemark show gpt.db block:22
