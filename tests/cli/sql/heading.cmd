# What a column is called reaches a terminal as what stands in it does.
name=$(printf 'a\033]0;x\007\302\2332J')
tidemark sql train.db "SELECT 1 AS \"$name\""
tidemark sql train.db -f json "SELECT 1 AS \"$name\""
