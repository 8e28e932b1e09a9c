# Without blocks there is nothing to derive: a sound file, of which no copy is made.
tidemark repair silent.db; ls *.repaired.db 2>/dev/null; tidemark repair --check empty.db | tail -1
