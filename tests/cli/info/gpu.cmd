tidemark info gpu.db | sed 's/^size .*/size SIZE/'
