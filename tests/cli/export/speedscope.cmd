tidemark export --to speedscope ranks.db -o -
