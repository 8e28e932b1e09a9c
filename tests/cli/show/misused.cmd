tidemark show; tidemark show train.db ""; tidemark show a b c
