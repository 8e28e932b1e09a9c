COLUMNS=60 NO_COLOR=1 script -qec 'tidemark peak train.db --all --top 3' /dev/null | tr -d '\r'
