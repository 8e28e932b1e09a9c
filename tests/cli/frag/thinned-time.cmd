tidemark frag thinned.db @0.5s; tidemark frag thinned.db @650ms -f csv
