tidemark export --to collapsed train.db --at 1/forward -o -
