tidemark info ranks.db | sed 's/^size .*/size SIZE/'
