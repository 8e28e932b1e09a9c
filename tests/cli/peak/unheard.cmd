tidemark peak unheard.db | tail -n 2
tidemark peak unheard.db --format json | tail -n 4
