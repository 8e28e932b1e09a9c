tidemark record
