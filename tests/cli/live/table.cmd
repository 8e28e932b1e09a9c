tidemark live train.db 1/forward
