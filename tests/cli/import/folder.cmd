mkdir there && tidemark import there -o run.db
