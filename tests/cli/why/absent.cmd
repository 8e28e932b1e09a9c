tidemark why train.db 0..9; tidemark why train.db 0..1/encode
