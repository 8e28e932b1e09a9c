tidemark import a b
