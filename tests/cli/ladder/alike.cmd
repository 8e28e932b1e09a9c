# Ranks whose ladders look the same have one; csv has each.
tidemark ladder alike.db
tidemark ladder alike.db --rank 4 | head -3
tidemark ladder alike.db --format csv | cut -d, -f1 | sort | uniq -c
