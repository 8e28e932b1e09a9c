tidemark info train.db | sed 's/^size .*/size SIZE/'
