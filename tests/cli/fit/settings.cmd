tidemark fit pressed.db --settings max_split_size_mb:32
tidemark fit pressed.db --settings expandable_segments:True --table -f csv | sed -n '/^# settings/,$p'
