# All of its segments were there before the record: nothing is said of segments taken.
python3 -c 'import sqlite3
db = sqlite3.connect("pressed.db")
db.execute("INSERT INTO setting VALUES(1, 1, ?, ?)", ("rebuilt_until", "10"))
db.execute("UPDATE segment SET seq = 8 WHERE seq = 10")
db.execute("UPDATE allocation SET segment = 8 WHERE segment = 10")
db.commit()'
tidemark fit pressed.db
