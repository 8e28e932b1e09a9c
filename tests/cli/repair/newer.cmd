# A format that this command does not know is not guessed at.
printf '\0\0\0\143' | dd of=train.db bs=1 seek=60 conv=notrunc 2>/dev/null
tidemark repair train.db
