# Ranks that leave the same behind have one table; csv has each.
tidemark leaks alike.db --keep 1
tidemark leaks alike.db --keep 1 --rank 4 | head -1
tidemark leaks alike.db --keep 1 --format csv | cut -d, -f1 | sort | uniq -c
