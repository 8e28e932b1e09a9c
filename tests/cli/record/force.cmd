# A finished recording gives way, anything else stays.
tidemark record -o run.db -- true 2>/dev/null
tidemark record -o run.db -- true 2>&1 | sed -n 1p
tidemark record --force -o run.db -- true 2>/dev/null; echo $?
echo text >notes.db
tidemark record --force -o notes.db -- true 2>/dev/null; echo $?
cat notes.db
tidemark record --force -o empty.db -- true 2>/dev/null; echo $?
