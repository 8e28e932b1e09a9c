# Ranks that look alike have one table, and a line says how far apart they are.
tidemark phases alike.db
tidemark phases alike.db --all | grep -c ^Phases
tidemark phases alike.db --rank 2 | head -1
tidemark phases alike.db --format csv | cut -d, -f1 | sort | uniq -c
