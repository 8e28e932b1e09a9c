tidemark help record
tidemark record --help >long
tidemark help record | cmp - long && echo same
tidemark record -h true | cmp - long && echo same
