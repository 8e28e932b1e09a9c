tidemark record -o run.db -- ./no-such-program
echo $?
ls run.db 2>/dev/null
