tidemark fit pressed.db --steps 1..2
