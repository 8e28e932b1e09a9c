tidemark frag thinned.db 650
