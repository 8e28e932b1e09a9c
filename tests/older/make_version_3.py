#!/usr/bin/env python3
"""make_version_3.py OUT.db ROWS.sql...: what make_fixture makes, as version 3 of the schema had it."""
import os
import sqlite3
import sys


def main():
    out, rows = sys.argv[1], sys.argv[2:]
    db = sqlite3.connect(out)
    for path in [os.path.join(os.path.dirname(os.path.abspath(__file__)), "version-3.sql"), *rows]:
        with open(path, encoding="utf-8") as text:
            db.executescript("BEGIN;" + text.read() + "COMMIT;")
    db.close()


main()
