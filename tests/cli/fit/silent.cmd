tidemark fit silent.db
tidemark fit silent.db --memory 1GiB
