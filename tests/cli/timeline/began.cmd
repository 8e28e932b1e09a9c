# What an allocator had reserved when it first told of it counts from then on: it is never less than
# what is allocated of it.
python3 -c 'import sqlite3
db = sqlite3.connect("train.db")
heap = db.execute("SELECT min(id) FROM heap").fetchone()[0]
db.execute("DELETE FROM curve")
mib = 1 << 20
for bucket, first, last in ((5, 20, 22), (7, 22, 42)):
    db.execute("INSERT INTO curve(heap, quantity, level, bucket, first, min, max, last) VALUES(?, ?, 20, ?, ?, ?, ?, ?)", (heap, "reserved", bucket, first * mib, first * mib, last * mib, last * mib))
for bucket, first, last in ((5, 0, 4), (6, 4, 8), (7, 8, 23)):
    db.execute("INSERT INTO curve(heap, quantity, level, bucket, first, min, max, last) VALUES(?, ?, 20, ?, ?, ?, ?, ?)", (heap, "allocated", bucket, first * mib, first * mib, last * mib, last * mib))
db.commit()'
tidemark timeline train.db -f csv
