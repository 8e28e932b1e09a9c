tidemark import --help
