# Only said: nothing is written.
head -c 81920 train.db >cut.db
tidemark repair --check cut.db | sed -n '1,6p;$p'; ls cut*
