tidemark info empty.db | sed 's/^size .*/size SIZE/'
