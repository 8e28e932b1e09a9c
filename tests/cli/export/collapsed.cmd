tidemark export --to collapsed train.db -o -
