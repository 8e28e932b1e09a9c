tidemark peak unheard.db --all | tail -n 2
tidemark peak unheard.db --format json | tail -n 4
