"""test_round_trip.py TIDEMARK [SNAPSHOT.pickle ...]: what is imported is what happened.

Snapshots of a model of the allocator (heap_model.py), of which every block's size is known, in every
protocol; and, for files that are named, the living blocks at their ends.
"""
import os
import pickle
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import cxx_pickle
import heap_model
from heap_model import MIB

TIDEMARK = None
FILES = []


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.n = 0

    def tearDown(self):
        self.folder.cleanup()

    def tidemark(self, data, *options, code=0):
        self.n += 1
        path = os.path.join(self.folder.name, f"{self.n}.pickle")
        out = os.path.join(self.folder.name, f"{self.n}.db")
        with open(path, "wb") as f:
            f.write(data)
        p = subprocess.run([TIDEMARK, "import", path, "-o", out, *options], capture_output=True,
                           text=True)
        self.assertEqual(p.returncode, code, p.stderr)
        self.said = p.stderr
        if code:
            self.assertFalse(os.path.exists(out))
            return None
        return sqlite3.connect(out)

    def load(self, snapshot, protocol=4):
        return self.tidemark(pickle.dumps(snapshot, protocol))


def living(snapshot):
    return sorted((s["device"], b["address"], b["size"], b["requested_size"], s["stream"])
                  for s in snapshot["segments"] for b in s["blocks"]
                  if b["state"] == "active_allocated")


LIVING = ("SELECT d.ordinal, a.address, a.size, a.requested, h.stream FROM allocation a "
          "JOIN heap h ON h.id = a.heap JOIN device d ON d.id = h.device "
          "WHERE a.life_ns = -70368744177664 ORDER BY 1, 2")


def pool_number(pair):
    return pair[0] << 1 if pair[0] else pair[1] << 1 | 1 if pair[1] else 0


class RoundTrip(Case):
    def check(self, heaps, lost_start=0, protocol=4, settings=None):
        """lost_start: so many events of each device's trace fell out of the ring."""
        traces, before = [], []
        for heap in heaps:
            traces.append(heap.trace[lost_start:])
        snapshot = {"segments": [s for h in heaps for s in h.describe()], "device_traces": traces}
        if settings:
            snapshot["allocator_settings"] = settings
        data = cxx_pickle.dumps(snapshot) if protocol == "c++" else pickle.dumps(snapshot, protocol)
        db = self.tidemark(data)
        warned = [line for line in self.said.splitlines() if "warning" in line]
        if any(traces):
            self.assertEqual(warned, [])
        else:
            self.assertEqual(len(warned), 1)
            self.assertIn("it has no history, only the end", warned[0])
        self.assertEqual(db.execute("SELECT * FROM anomaly").fetchall(), [])
        self.assertEqual(db.execute("SELECT * FROM lost").fetchall(), [])
        self.assertEqual(db.execute(LIVING).fetchall(), living(snapshot))
        until = db.execute("SELECT value FROM setting WHERE key = 'rebuilt_until'").fetchone()
        until = int(until[0]) if until else 0
        for heap in heaps:
            self.check_blocks(db, heap, lost_start, until)
            self.check_reserved(db, heap)
        return db

    def check_blocks(self, db, heap, lost_start, until):
        rows = db.execute(
            "SELECT a.address, a.size, a.requested, h.stream, h.pool FROM allocation a "
            "JOIN heap h ON h.id = a.heap JOIN device d ON d.id = h.device "
            "WHERE d.ordinal = ? AND a.seq > ? ORDER BY a.seq", (heap.device, until)).fetchall()
        truth = [t for t in heap.truth if t[0] >= lost_start]
        self.assertEqual([r[:4] for r in rows], [t[1:5] for t in truth])
        # The pool is known of segments that are still there at the end, only.
        final = [(s.address, s.address + s.mapped[0][1]) for s in heap.segments]
        for row, t in zip(rows, truth):
            if any(a <= row[0] < e for a, e in final):
                self.assertIn(row[4], (pool_number(t[5]), 0))
        self.check_before(db, heap, lost_start, until)

    def check_before(self, db, heap, lost_start, until):
        live = {}
        truth = {t[0]: t for t in heap.truth}
        for i, e in enumerate(heap.trace[:lost_start]):
            if e["action"] == "alloc":
                live[e["addr"]] = truth[i]
            elif e["action"] == "free_completed":
                del live[e["addr"]]
        rows = {r[0]: r for r in db.execute(
            "SELECT a.address, a.size, a.requested, h.stream FROM allocation a "
            "JOIN heap h ON h.id = a.heap JOIN device d ON d.id = h.device "
            "WHERE d.ordinal = ? AND a.seq <= ?", (heap.device, until))}
        self.assertEqual(sorted(rows), sorted(live))
        for address, row in rows.items():
            self.assertEqual(row[2:], live[address][3:5])
            # What a block that lived before took beyond its request is not always to be known.
            slack = live[address][2] - row[1]
            self.assertTrue(slack == 0 or (0 < slack <= MIB and row[2] > MIB), (row, live[address]))
            self.exact = getattr(self, "exact", 0) + (slack == 0)
            self.inexact = getattr(self, "inexact", 0) + (slack != 0)

    def check_reserved(self, db, heap):
        want = sum(s.mapped[0][1] for s in heap.segments)
        got = db.execute("SELECT sum(s.size) FROM segment s JOIN heap h ON h.id = s.heap "
                         "JOIN device d ON d.id = h.device WHERE s.free_seq IS NULL "
                         "AND d.ordinal = ?", (heap.device,)).fetchone()[0] or 0
        got += db.execute("SELECT sum(CASE mapped WHEN 1 THEN m.size ELSE -m.size END) "
                          "FROM mapping m JOIN heap h ON h.id = m.heap JOIN device d "
                          "ON d.id = h.device WHERE d.ordinal = ?",
                          (heap.device,)).fetchone()[0] or 0
        self.assertEqual(got, want)

    def test_protocols(self):
        for protocol in (2, 3, 4, 5, "c++"):
            heap = heap_model.Heap(0, heap_model.seeded(1))
            heap_model.run(heap, 300)
            with self.subTest(protocol=protocol):
                self.check([heap], protocol=protocol)

    def test_ring_that_lost_its_start(self):
        for seed in range(6):
            heap = heap_model.Heap(0, heap_model.seeded(seed))
            heap_model.run(heap, 500)
            for lost in (1, 100, len(heap.trace) // 2, len(heap.trace)):
                with self.subTest(seed=seed, lost=lost):
                    self.check([heap], lost)
        self.assertGreater(self.exact, 50 * self.inexact)

    def test_streams_pools_waiting(self):
        for seed in range(6):
            heap = heap_model.Heap(0, heap_model.seeded(seed))
            heap_model.run(heap, 400, streams=(0, 93824992231424), pools=((0, 0), (0, 1), (7, 0)),
                           waits=0.3)
            for lost in (0, 150):
                with self.subTest(seed=seed, lost=lost):
                    self.check([heap], lost)

    def test_waiting_blocks_are_active_until_idle(self):
        heap = heap_model.Heap(0, heap_model.seeded(3))
        a, b = heap.malloc(1000), heap.malloc(2000)
        heap.free(a, waits=True)
        heap.malloc(3000)
        heap.complete(a)
        heap.free(b, waits=True)
        db = self.check([heap])
        idle = db.execute("SELECT i.allocation, a.address FROM idle i JOIN allocation a "
                          "ON a.seq = i.allocation").fetchall()
        self.assertEqual([r[1] for r in idle], [a.address])
        active = db.execute("SELECT allocated, active FROM phase_table ORDER BY end_ns DESC "
                            "LIMIT 1").fetchone()
        self.assertEqual(active, (3072, 3072 + 2048))

    def test_expandable_segments(self):
        settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": True}
        for seed in range(6):
            heap = heap_model.Heap(0, heap_model.seeded(seed), expandable=True)
            heap_model.run(heap, 300)
            for lost in (0, 120):
                with self.subTest(seed=seed, lost=lost):
                    db = self.check([heap], lost, settings=settings)
                    self.assertEqual(db.execute("SELECT value FROM setting WHERE key = "
                                                "'alloc_conf'").fetchone()[0],
                                     "expandable_segments:True")
                    self.assertGreater(db.execute("SELECT count(*) FROM mapping").fetchone()[0], 0)

    def test_max_split_size_and_roundup(self):
        table = {str(1 << i): 4 for i in range(16)}
        for seed in range(4):
            heap = heap_model.Heap(0, heap_model.seeded(seed), max_split=24 * MIB, divisions=4)
            heap_model.run(heap, 300)
            db = self.check([heap], 80, settings={"max_split_size": 24 * MIB,
                                                  "roundup_power2_divisions": table})
            self.assertEqual(db.execute("SELECT value FROM setting WHERE key = "
                                        "'alloc_conf'").fetchone()[0],
                             "max_split_size_mb:24,roundup_power2_divisions:4")

    def test_devices_are_merged_by_time(self):
        clock = [1_700_000_000_000_000]
        rng = heap_model.seeded(9)
        heaps = [heap_model.Heap(d, rng, clock=clock) for d in range(3)]
        for i in range(60):
            heap_model.run(heaps[i % 3], 5)
        db = self.check(heaps)
        times = [r[0] for r in db.execute("SELECT alloc_ns FROM allocation ORDER BY seq")]
        self.assertEqual(times, sorted(times))
        self.assertEqual(db.execute("SELECT count(*) FROM device").fetchone()[0], 3)

    def test_time_is_real(self):
        heap = heap_model.Heap(0, heap_model.seeded(2))
        heap_model.run(heap, 50)
        db = self.check([heap])
        real = db.execute("SELECT real_ns + (SELECT max(alloc_ns) FROM allocation) FROM clock "
                          "WHERE run_ns = 0").fetchone()[0]
        last = max(e["time_us"] for e in heap.trace if e["action"] == "alloc")
        self.assertEqual(real, last * 1000)

    def test_shared_frames_stay_shared(self):
        heap = heap_model.Heap(0, heap_model.seeded(4))
        frames = list(heap_model.FRAMES[:5])
        for _ in range(200):
            heap.malloc(100, frames=list(frames))
        db = self.check([heap])
        self.assertEqual(db.execute("SELECT count(*) FROM frame").fetchone()[0], 5)
        self.assertEqual(db.execute("SELECT count(DISTINCT site) FROM allocation").fetchone()[0], 1)
        got = db.execute("SELECT frame FROM stack WHERE site = (SELECT site FROM allocation "
                         "LIMIT 1) ORDER BY depth").fetchall()
        self.assertEqual(got[0][0], "f0 (/data/m0.py:10)")


class Files(Case):
    def test_living_blocks_at_the_end(self):
        if not FILES:
            self.skipTest("no snapshots named")
        for path in FILES:
            with self.subTest(path=path), open(path, "rb") as f:
                data = f.read()
                snapshot = pickle.loads(data)
                db = self.tidemark(data)
                self.assertNotIn("warning", self.said)
                self.assertEqual(db.execute(LIVING).fetchall(), living(snapshot))
                self.assertEqual(db.execute("SELECT * FROM anomaly").fetchall(), [])
                segments = db.execute("SELECT address, size FROM segment WHERE free_seq IS NULL "
                                      "ORDER BY address").fetchall()
                self.assertEqual(segments, sorted((s["address"], s["total_size"])
                                                  for s in snapshot["segments"]))
                allocs = sum(e["action"] == "alloc" for t in snapshot["device_traces"] for e in t)
                until = db.execute("SELECT value FROM setting WHERE key = 'rebuilt_until'"
                                   ).fetchone()[0]
                self.assertEqual(db.execute("SELECT count(*) FROM allocation WHERE seq > ?",
                                            (int(until),)).fetchone()[0], allocs)


if __name__ == "__main__":
    TIDEMARK = sys.argv[1]
    FILES = sys.argv[2:]
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    if FILES:
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Files)
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
