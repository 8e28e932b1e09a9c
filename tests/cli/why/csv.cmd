tidemark why train.db 0..1 --format csv
