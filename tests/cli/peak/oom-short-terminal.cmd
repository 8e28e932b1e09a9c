COLUMNS=80 NO_COLOR=1 script -qec 'tidemark peak limit.db --all --rank 0' /dev/null | tr -d '\r'
