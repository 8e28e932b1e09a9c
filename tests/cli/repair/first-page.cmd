# Header and list of tables are gone.
dd if=/dev/zero of=train.db bs=4096 count=1 conv=notrunc 2>/dev/null
tidemark peak train.db; tidemark repair train.db | sed -n '1,7p;$p'; tidemark sql train.repaired.db "SELECT count(*) FROM allocation"
