tidemark evaluated.db | grep -v '^more'
tidemark peak evaluated.db --format csv | sed -n 2,3p | cut -d, -f1-6
