tidemark help peak
tidemark peak --help >long
tidemark help peak | cmp - long && echo same
tidemark peak -h | cmp - long && echo same
