# A script that has another name in B.
cp after.db renamed.db
python3 -c 'import sqlite3
db = sqlite3.connect("renamed.db")
db.execute("UPDATE process SET argv = ?", ("python3 train_v2.py",))
db.execute("UPDATE string SET text = ? WHERE text = ?", ("project/train_v2.py", "project/train.py"))
db.commit()'
tidemark diff before.db renamed.db --rank 0 >renamed
sed -n '/^By kind and call site/,$p' renamed
