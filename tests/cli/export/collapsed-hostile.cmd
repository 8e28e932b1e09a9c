tidemark export --to collapsed ranks.db -o -
