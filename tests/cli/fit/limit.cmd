# A recording with a limit: the peak reserved is that of a replay without it, and is called so.
python3 -c 'import sqlite3
db = sqlite3.connect("pressed.db")
db.execute("INSERT INTO setting VALUES(1, 1, ?, ?)", ("limit", str(40 << 20)))
db.commit()'
tidemark fit pressed.db
