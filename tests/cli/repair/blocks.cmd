# The page of all blocks: where they were and what it means stays in the file.
dd if=/dev/zero of=train.db bs=4096 seek=14 count=1 conv=notrunc 2>/dev/null
tidemark repair train.db; echo "exit $?"; tidemark ladder train.repaired.db | tail -2
