tidemark help info
tidemark info --help >long
tidemark help info | cmp - long && echo same
tidemark info -h | cmp - long && echo same
