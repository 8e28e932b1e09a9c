# The row of the only process: reports still find what it had.
dd if=/dev/zero of=train.db bs=4096 seek=2 count=1 conv=notrunc 2>/dev/null
tidemark repair train.db | tail -1; tidemark phases train.repaired.db --steps 1 | head -4
