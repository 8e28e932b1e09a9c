tidemark --help
