tidemark diff before.db after.db --moment 3/forward; tidemark diff before.db after.db --steps 3
