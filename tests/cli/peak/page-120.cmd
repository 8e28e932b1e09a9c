COLUMNS=120 NO_COLOR=1 script -qec 'tidemark peak torch.db' /dev/null | tr -d '\r'
