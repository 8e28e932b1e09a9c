tidemark phases thinned.db --steps 100..102
