COLUMNS=80 NO_COLOR=1 script -qec 'tidemark diff before.db after.db --rank 0' /dev/null | tr -d '\r'
