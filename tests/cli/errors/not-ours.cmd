# An SQLite file with another program's number.
printf 'ABCD' | dd of=train.db bs=1 seek=68 conv=notrunc 2>/dev/null
tidemark phases train.db
