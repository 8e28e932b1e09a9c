tidemark fit pressed.db --memory lots
