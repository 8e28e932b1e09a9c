tidemark phases empty.db
