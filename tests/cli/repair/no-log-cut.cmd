# The header says how long the file is with its log.
printf '\2\2' | dd of=ranks.db bs=1 seek=18 conv=notrunc 2>/dev/null
head -c 212000 ranks.db >cut.db
tidemark peak cut.db; tidemark repair cut.db | sed -n '1,5p;/its log (/p'
tidemark repair cut.repaired.db --check | head -1
tidemark sql cut.repaired.db "SELECT key, value FROM meta WHERE key LIKE 'repaired%'" --format csv
