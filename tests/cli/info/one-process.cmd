tidemark info ranks.db --rank 1 | sed 's/^size .*/size SIZE/'
