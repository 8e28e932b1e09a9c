python3 -c 'import sqlite3
db = sqlite3.connect("pools.db")
db.execute("UPDATE phase SET name = ? WHERE kind = ?", ("other", "user"))
db.commit()'
tidemark frag pools.db --over-time
