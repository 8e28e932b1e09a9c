# Who had ended by then holds nothing, although a process that is killed frees nothing.
python3 -c "import sqlite3; d = sqlite3.connect('workers.db'); d.execute('UPDATE process SET end_ns = 2000 WHERE id = 1'); d.commit()"
tidemark ladder workers.db | sed -n '/^All/,/^together/p'
