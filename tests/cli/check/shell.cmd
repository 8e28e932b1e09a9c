# The shell that started the ranks has no memory of its own; what failed in it is said all the same.
python3 - <<END
import sqlite3
db = sqlite3.connect("ranks.db")
db.execute("INSERT INTO oom VALUES(1, 1, NULL, 100, 5, 4096, NULL, NULL, NULL)")
db.commit()
END
tidemark check ranks.db --no-oom --process 1; echo $?
tidemark check ranks.db --no-oom --no-lost --format csv
