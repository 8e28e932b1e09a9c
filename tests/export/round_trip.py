#!/usr/bin/env python3
"""round_trip.py TIDEMARK FOLDER SNAPSHOTS [DATA MAKE_FIXTURE OWN]: a snapshot that was imported, exported
to memory_viz and imported again has the same blocks at the same addresses, and the same segments. Of a
recording the blocks of the process that is exported come back: addresses, requested bytes, and which
of them live on."""
import os
import sqlite3
import sys

import recordings

QUESTIONS = (
    "SELECT address, size, requested FROM allocation ORDER BY seq",
    "SELECT address, size FROM segment ORDER BY seq",
    "SELECT max(allocated), max(reserved) FROM peak",
)
# Rows whose blocks lie outside of their own segments: made for other reports.
MADE = ("train.db", "torch.db", "ranks.db")
DEVICES = """SELECT h.process, d.id, d.kind = 'cpu', max(d.ordinal, 0), count(*)
  FROM allocation a JOIN heap h ON h.id = a.heap JOIN device d ON d.id = h.device GROUP BY 1, 2"""
BLOCKS = """SELECT a.address, coalesce(a.requested, a.size), a.free_seq >= 0
  FROM allocation a JOIN heap h ON h.id = a.heap WHERE h.process = ? AND h.device = ? ORDER BY a.seq"""
FULLEST = """SELECT process FROM (SELECT process, allocated FROM peak UNION ALL
  SELECT min(process), -1 FROM heap) ORDER BY allocated DESC, process LIMIT 1"""


def ask(path):
    return [recordings.ask(path, question) for question in QUESTIONS]


def blocks(path, process):
    """The blocks of each device with blocks by its number; the CPU's only if there are no others."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        found = [row for row in db.execute(DEVICES) if row[0] == process]
        gpus = [row for row in found if not row[2]]
        return {number: db.execute(BLOCKS, (process, device)).fetchall()
                for _, device, _, number, _ in gpus or found}


def check_snapshot(path, back, tidemark, folder):
    twice = os.path.join(folder, "twice.db")
    recordings.run(tidemark, "import", recordings.export(tidemark, "memory_viz", path, folder), "-o", back)
    first, second = ask(path), ask(back)
    assert first[0] and first == second, path
    again = recordings.export(tidemark, "memory_viz", back, folder)
    recordings.run(tidemark, "import", again, "-o", twice)
    assert ask(twice) == first, path
    os.remove(twice)
    return f"{len(first[0])} blocks, {len(first[1])} segments"


def check_recording(path, back, tidemark, folder):
    recordings.run(tidemark, "import", recordings.export(tidemark, "memory_viz", path, folder), "-o", back)
    want = blocks(path, recordings.ask(path, FULLEST)[0][0])
    got = blocks(back, 1)
    assert want and got == want, path
    return f"{sum(map(len, got.values()))} blocks"


def main():
    tidemark, folder, snapshots, *rest = sys.argv[1:]
    back, compared = os.path.join(folder, "back.db"), 0
    for path in recordings.make(tidemark, folder, snapshots, *rest):
        name = os.path.basename(path)
        if name in MADE:
            continue
        check = check_snapshot if name.endswith(".pickle.db") else check_recording
        print(f"{name}: {check(path, back, tidemark, folder)}")
        os.remove(back)
        compared += 1
    if not compared:
        print(f"no snapshots in {snapshots}")
        return 77
    return 0


sys.exit(main())
