# What an older release does not know stops the program at its start; the version of this recording is not known.
tidemark fit pressed.db --settings large_segment_size_mb:32,throw_on_cudamalloc_oom:True --torch 2.10,2.11,2.12
