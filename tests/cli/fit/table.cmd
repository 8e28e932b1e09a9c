tidemark fit pressed.db
