# A recorder was killed, and its file was copied without the log.
printf '\2\2' | dd of=ranks.db bs=1 seek=18 conv=notrunc 2>/dev/null
tidemark repair --check ranks.db | sed -n '1p;/not finished/p'; tidemark repair ranks.db >out; echo "exit $?"
tidemark phases ranks.db | tail -2 | head -1; tidemark info ranks.db | grep complete
: >ranks.db-wal; tidemark peak ranks.db --rank 0 | grep "not finished"
# So was one that was finished, and needs none.
printf '\2\2' | dd of=train.db bs=1 seek=18 conv=notrunc 2>/dev/null
tidemark repair --check train.db | sed -n '1p;$p'; tidemark info train.db | grep complete
# Its copy in a folder that nobody may write to, by another name.
mkdir there; cp ranks.db there/run.db; chmod 500 there; ln -s there/run.db other.db
tidemark phases other.db | grep -c "there/run.db-wal) is missing or empty"; chmod 700 there
