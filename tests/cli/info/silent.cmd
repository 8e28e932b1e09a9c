tidemark info silent.db | sed 's/^size .*/size SIZE/'
