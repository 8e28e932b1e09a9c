tidemark info stopped.db | sed 's/^size .*/size SIZE/'
