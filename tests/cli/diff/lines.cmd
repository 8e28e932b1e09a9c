# A function that moved in its file is one group; each side's line is shown, not B's for both.
cp before.db moved.db
python3 -c 'import sqlite3
db = sqlite3.connect("moved.db")
db.execute("UPDATE frame SET line = line + 7 WHERE id = (SELECT f.id FROM frame f JOIN string s ON s.id = f.function WHERE s.text = ? LIMIT 1)", ("decode",))
db.execute("UPDATE allocation SET size = size + 1048576")
db.commit()'
tidemark diff before.db moved.db --rank 0 | grep decode
tidemark diff before.db moved.db --rank 0 -f csv | grep -o 'decode (train.py:[^)]*' | sort -u
