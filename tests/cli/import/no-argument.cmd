tidemark import
