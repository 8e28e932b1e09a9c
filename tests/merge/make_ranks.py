"""Recordings of many ranks, each of a node of its own, as a job of 256 ranks leaves them: a made-up
training, as many blocks in each file, clocks that begin elsewhere and drift, a collective in each step.

    make_ranks.py MAKE_FIXTURE FOLDER RANKS BLOCKS [STEPS]
"""
import os
import random
import sqlite3
import subprocess
import sys

STEPS = 50
LIVING = 200  # blocks that stay, of those of the first step

ROWS = """
INSERT INTO meta VALUES('finished', 1), ('host', 'node{rank}'), ('run_ns', {run_ns}),
  ('start_monotonic_ns', {zero}), ('recorder_pid', {pid}), ('command', 'train');
INSERT INTO clock VALUES(0, {zero}, {real}, {zero}), ({run_ns}, {zero} + {run_ns}, {real} + {run_ns}, {zero});
INSERT INTO process VALUES(1, {pid}, NULL, 'root', 0, {run_ns}, {rank}, 0, {ranks}, 'node{rank}',
  'python3 train.py', 'torch-cuda', NULL, 'exit', 0, NULL, 1, {last}, {last});
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 85899345920);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO string SELECT value, 'function ' || value FROM (
  WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 400) SELECT * FROM n);
INSERT INTO frame SELECT id, id, (id % 20) + 1, id % 300 FROM string;
INSERT INTO site SELECT s.id, d.id - 1, (s.id * 7 + d.id * 13) % 400 + 1
  FROM string s JOIN string d ON d.id <= 12;
INSERT INTO phase(id, process, thread, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, end_ns,
                  scope, ended, settled)
  SELECT id, 1, 1, 0, 'user', 'all_reduce', id - 1, (id - 1) * {each} + 1, id * {each},
         {begin}, {end}, 'process', 'end', id FROM string WHERE id <= {steps};
INSERT INTO phase_device(phase, device, begin_allocated, allocated, max_allocated, peak_allocated, peak_seq,
                         allocs, frees, alloc_bytes)
  SELECT id, 1, 0, 1000000, 2000000 + {rank} * 100, 2000000 + {rank} * 100, begin_seq, {each} / 2,
         {each} / 2, 1000 FROM phase;
INSERT INTO stretch SELECT 1, begin_seq, id FROM phase;
INSERT INTO allocation
  WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {blocks})
  SELECT 2 * i + 1, 1, 140000000000000 + i % 5000 * 4096, 4096 * (1 + i % 64), 4096 * (1 + i % 64) - i % 7,
         i * {gap}, CASE WHEN i < {living} THEN -70368744177664 ELSE {gap} * 20 END,
         CASE WHEN i < {living} OR 2 * i + 42 > {last} THEN -2147483648 ELSE 2 * i + 42 END,
         1 + i % 400, NULL, NULL, NULL FROM n;
UPDATE allocation SET life_ns = -70368744177664 WHERE free_seq < 0;
"""


def make(empty, folder, rank, ranks, blocks, steps, dice):
    path = os.path.join(folder, "rank%d.db" % rank)
    with open(empty, "rb") as there, open(path, "wb") as here:
        here.write(there.read())
    drift, zero = dice.uniform(-50e-6, 50e-6), dice.randrange(10**12, 10**15)
    run_ns, last = 60 * 10**9, 2 * blocks
    values = {"rank": rank, "ranks": ranks, "blocks": blocks, "last": last, "steps": steps,
              "each": last // steps, "gap": run_ns // blocks, "living": LIVING, "pid": 1000 + rank,
              "zero": zero, "real": 1760000000 * 10**9 + dice.randrange(10**9), "run_ns": run_ns,
              # All ranks leave within 100 us of each other.
              "begin": "CAST((id - 0.5) * %d * %r AS INT)" % (run_ns // steps, 1 + drift),
              "end": "CAST(id * %d * %r AS INT) + abs(random() %% 100000)" % (run_ns // steps, 1 + drift)}
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    db.executescript("BEGIN;" + ROWS.format(**values) + "COMMIT;")
    db.close()


def main():
    make_fixture, folder, ranks, blocks = sys.argv[1:3] + [int(word) for word in sys.argv[3:5]]
    steps = int(sys.argv[5]) if len(sys.argv) > 5 else STEPS
    dice = random.Random(1)
    empty = os.path.join(folder, "empty.db")
    subprocess.run([make_fixture, empty], check=True)
    for rank in range(ranks):
        make(empty, folder, rank, ranks, blocks, steps, dice)
    os.remove(empty)


if __name__ == "__main__":
    main()
