# The fixtures have no curves: they are made from the facts, and then nothing is left to do.
tidemark repair train.db -o new.db && tidemark repair --check new.db | tail -1
tidemark sql new.db "SELECT count(*) > 5, max(allocated) FROM timeline"
tidemark phases train.db >a; tidemark phases new.db >b; cmp a b
