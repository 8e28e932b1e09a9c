tidemark timeline thinned.db --steps 100..102 --format table
