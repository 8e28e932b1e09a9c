tidemark fit pressed.db --memory 1GiB --reserve 1024MiB
