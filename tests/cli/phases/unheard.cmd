tidemark phases unheard.db
tidemark phases unheard.db --steps 0 --format csv | tail -n 1
