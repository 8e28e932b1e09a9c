COLUMNS=80 NO_COLOR=1 script -qec 'tidemark fit pressed.db --memory 36MiB --table' /dev/null | tr -d '\r'
