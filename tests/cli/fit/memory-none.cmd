tidemark fit pressed.db --memory 0
