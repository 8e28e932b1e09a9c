COLUMNS=80 NO_COLOR=1 script -qec 'tidemark peak torch.db --all' /dev/null | tr -d '\r'
