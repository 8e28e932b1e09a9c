# A death by signal is our own; the shell sees 128 + 9.
sh -c "tidemark record -o run.db -- sh -c 'kill -9 \$\$'" 2>/dev/null
echo $?
tidemark sql run.db "SELECT count(*) AS finished FROM meta WHERE key = 'finished' AND value = 1"
