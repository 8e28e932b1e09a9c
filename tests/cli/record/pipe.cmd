# The program begins with SIGPIPE as it was: yes(1) must die of it, not complain.
tidemark record -o run.db -- yes 2>said | head -n 1
grep -ci 'broken pipe' said
tidemark sql run.db "SELECT ended, signal FROM process" | tail -n +2
