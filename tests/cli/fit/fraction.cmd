# Half of 76 MiB is what the run needs; of 74 MiB it is not enough.
tidemark fit pressed.db --memory 76MiB --settings per_process_memory_fraction:0.5 && tidemark fit pressed.db --memory 74MiB --settings per_process_memory_fraction:0.5 -f csv | sed -n '/^# memory/,/^$/p'
