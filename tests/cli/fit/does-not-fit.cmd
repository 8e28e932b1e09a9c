tidemark fit pressed.db --memory 36MiB
