python3 -c "
import sqlite3
db = sqlite3.connect('before.db')
for column in ('peak_allocated', 'max_allocated'):
    db.execute('UPDATE phase_device SET %s = %s - 2 * 1048576 WHERE phase IN '
               '(SELECT id FROM phase WHERE process = 2)' % (column, column))
db.commit()
"
tidemark peak before.db | head -4
