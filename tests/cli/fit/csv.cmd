tidemark fit pressed.db --table --memory 36MiB --format csv
