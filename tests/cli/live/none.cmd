tidemark live train.db 7; tidemark live train.db 1 2; tidemark live empty.db; tidemark live empty.db -f json; tidemark live train.db 9 -f json
