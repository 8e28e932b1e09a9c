# The figure of 'tidemark peak' where the replay has another one: its settings, or its roundings
cp frag.db other.db
python3 -c 'import sqlite3
db = sqlite3.connect("other.db")
db.execute("UPDATE setting SET value = ? WHERE key = ?", ("ours", "allocator"))
db.execute("DELETE FROM segment")
db.execute("INSERT INTO setting(process, device, key, value) SELECT 1, 1, ?, ? WHERE NOT EXISTS (SELECT 1 FROM setting WHERE key = ?)", ("allocator", "ours", "allocator"))
db.commit()'
tidemark fit frag.db --settings roundup_power2_divisions:1 | sed -n '/^peak allocated/,/^peak reserved/p'
tidemark fit other.db | sed -n '/^peak allocated/,/^peak reserved/p'
tidemark fit train.db | sed -n '/^peak allocated/,/^peak reserved/p'
tidemark phases frag.db | grep '^highest' | head -1
