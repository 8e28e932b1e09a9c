tidemark why train.db 0/forward..0/backward
