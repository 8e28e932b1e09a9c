# A recording whose settings mean nothing to us is replayed as the default, and that is said.
python3 -c 'import sqlite3
db = sqlite3.connect("pressed.db")
db.execute("UPDATE setting SET value = ? WHERE key = ?", ("brand_new:9", "alloc_conf"))
db.commit()'
tidemark fit pressed.db
