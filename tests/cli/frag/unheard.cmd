tidemark frag unheard.db | tail -n 2; tidemark frag unheard.db @12ms | tail -n 2
tidemark frag unheard.db end --format csv 2>&1 | tail -n 1
