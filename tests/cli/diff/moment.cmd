tidemark diff before.db after.db --rank 0 --moment 0/forward
