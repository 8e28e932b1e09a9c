mkdir sub; cp train.db sub/; cd sub; rm ../*.db; tidemark why ../sub/train.db "@40ms..end"
