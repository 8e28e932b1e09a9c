tidemark help sql
tidemark sql --help >long
tidemark help sql | cmp - long && echo same
tidemark sql -h | cmp - long && echo same
