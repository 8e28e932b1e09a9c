#!/usr/bin/env python3
"""round_trip.py TIDEMARK FOLDER SNAPSHOTS: a snapshot that was imported, exported to memory_viz and
imported again has the same blocks at the same addresses, and the same segments."""
import glob
import os
import sqlite3
import subprocess
import sys

QUESTIONS = (
    "SELECT address, size, requested FROM allocation ORDER BY seq",
    "SELECT address, size FROM segment ORDER BY seq",
    "SELECT max(allocated), max(reserved) FROM peak",
)


def ask(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return [db.execute(question).fetchall() for question in QUESTIONS]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


def main():
    tidemark, folder, snapshots = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    found = sorted(glob.glob(os.path.join(snapshots, "*.pickle")))
    if not found:
        print(f"no snapshots in {snapshots}")
        return 77
    for snapshot in found:
        once, again, twice = (os.path.join(folder, name) for name in ("1.db", "2.pickle", "2.db"))
        for path in (once, again, twice):
            if os.path.exists(path):
                os.remove(path)
        run(tidemark, "import", snapshot, "-o", once)
        run(tidemark, "export", "--to", "memory_viz", once, "-o", again)
        run(tidemark, "import", again, "-o", twice)
        first, second = ask(once), ask(twice)
        assert first[0] and first == second, snapshot
        print(f"{os.path.basename(snapshot)}: {len(first[0])} blocks, {len(first[1])} segments")
    return 0


sys.exit(main())
