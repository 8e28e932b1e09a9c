tidemark fit pressed.db --table
