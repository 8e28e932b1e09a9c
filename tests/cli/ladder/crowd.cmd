# Ranks whose ladders look the same have one; csv has each.
tidemark ladder crowd.db
tidemark ladder crowd.db --rank 4 | head -3
tidemark ladder crowd.db --format csv | cut -d, -f1 | sort | uniq -c
