tidemark info private.db | grep '^private'
