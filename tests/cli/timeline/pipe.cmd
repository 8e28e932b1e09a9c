# In a pipe it draws, too; colour where it is asked for.
LINES=16 tidemark timeline train.db >piped
LINES=16 tidemark timeline train.db --plot | cmp piped - && head -5 piped
LINES=16 tidemark timeline train.db --color always | head -3 | cat -v
LINES=16 TERM=xterm script -qec 'tidemark timeline train.db --color never' /dev/null | head -3 | cat -v
NO_COLOR=1 LINES=16 tidemark timeline train.db --color=auto | cmp piped - && echo plain
tidemark timeline train.db --color sometimes
