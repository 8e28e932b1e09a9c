python3 -c "import sqlite3; d = sqlite3.connect('gpu.db'); d.execute(\"UPDATE sample SET value = value - (40 << 20) WHERE what = 'device used' AND at_ns > (SELECT min(at_ns) FROM sample WHERE what = 'device used')\"); d.commit()"
tidemark ladder gpu.db | grep -e unattributed
