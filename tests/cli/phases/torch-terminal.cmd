COLUMNS=80 NO_COLOR=1 script -qec 'tidemark phases torch.db' /dev/null | tr -d '\r'
