# The original is not touched, and nothing stays beside it.
head -c 61440 train.db >cut.db; cksum <cut.db >before; chmod 400 cut.db
tidemark repair cut.db -o new.db >out; cksum <cut.db | cmp - before; ls cut* new*
