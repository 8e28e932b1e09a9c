tidemark fit pressed.db --settings max_split_size_mb:7
