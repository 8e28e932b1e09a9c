# A finished recording gives way, anything else stays.
tidemark record -o run.db -- true 2>/dev/null
tidemark record -o run.db -- true 2>&1 | sed -n 1p
tidemark record --force -o run.db -- true 2>/dev/null; echo $?
echo text >notes.db
tidemark record --force -o notes.db -- true 2>/dev/null; echo $?
cat notes.db
tidemark record --force -o empty.db -- true 2>/dev/null; echo $?
tidemark record -o live.db -- sh -c 'until [ -e go ]; do sleep 0.1; done' 2>/dev/null &
until tidemark info live.db >/dev/null 2>&1; do sleep 0.1; done
tidemark record --force -o live.db -- true 2>/dev/null; echo $?
>go; wait; tidemark sql live.db -f csv "SELECT value FROM meta WHERE key = 'finished'"
