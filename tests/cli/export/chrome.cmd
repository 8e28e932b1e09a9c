tidemark export --to chrome limit.db -o -
