COLUMNS=80 TERM=xterm script -qec 'tidemark peak torch.db' /dev/null | tr -d '\r' | cat -v
