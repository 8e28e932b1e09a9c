tidemark help record
tidemark record --help >long
tidemark help record | cmp - long && echo same
tidemark record -h | cmp - long && echo same
