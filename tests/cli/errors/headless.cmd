# The file's header is overwritten: the message says that repair may save it; repair itself does not.
dd if=/dev/zero of=train.db bs=100 count=1 conv=notrunc 2>/dev/null
tidemark peak train.db
head -c 4096 /dev/zero >zeros.db
tidemark repair zeros.db
