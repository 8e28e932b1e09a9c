tidemark help fit
tidemark fit --help >long
tidemark help fit | cmp - long && echo same
tidemark fit -h | cmp - long && echo same
