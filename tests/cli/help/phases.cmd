tidemark help phases
tidemark phases --help >long
tidemark help phases | cmp - long && echo same
tidemark phases -h | cmp - long && echo same
