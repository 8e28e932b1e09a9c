for r in x 3..1 .. 1..x 1.2; do tidemark phases --steps "$r" train.db; done
