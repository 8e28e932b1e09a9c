# Those that train nothing are one line, but for the one that has more memory than who trains; asked
# for, each is there, and programs get all.
tidemark peak workers.db --all
tidemark peak workers.db --all -p 3 | head -3
tidemark peak workers.db -f csv | sed -n '/^# peak/,/^$/p' | cut -d, -f1,3,6
