tidemark phases silent.db --format=csv
