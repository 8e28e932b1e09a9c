tidemark phases thinned.db --steps 100..102
tidemark phases thinned.db --steps 28..40
tidemark phases thinned.db --steps 290..300
tidemark phases thinned.db --steps 299..301
tidemark phases thinned.db --steps 299..301 --all | tail -1
