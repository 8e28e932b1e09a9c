# The program's exit status is ours, its words are its own, and the database is where it was asked for.
tidemark record -o run.db -- sh -c 'echo out; echo err >&2; exit 7' 2>said
echo $?
grep -c '^err$' said
tidemark info run.db -f csv | sed -n 's/.*"\{0,1\}exit 7.*/it ended with exit 7/p' | head -n 1
