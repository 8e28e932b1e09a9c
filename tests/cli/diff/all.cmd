tidemark diff before.db after.db --rank 1 --all --steps 1..2
