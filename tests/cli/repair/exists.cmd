cp train.db train.repaired.db; cksum <train.repaired.db >before
tidemark repair train.db; echo $?; cksum <train.repaired.db | cmp - before
tidemark repair train.db -o train.db; echo $?
