tidemark modules gpt.db
