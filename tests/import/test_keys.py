"""test_keys.py TIDEMARK: what snapshots of torch 2.8 to 2.14 have besides: annotations of tensors, a
history that overflowed, actions that were not recorded, pinned host memory. The snapshots are made."""
import copy
import os
import random
import subprocess
import sys
import unittest

import heap_model
import test_round_trip
from test_round_trip import LIVING, Case, living

ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free")


def made(seed=1, **more):
    heap = heap_model.Heap(0, heap_model.seeded(seed))
    heap_model.run(heap, 300, waits=0.2)
    return {"segments": heap.describe(), "device_traces": [heap.trace], **more}


class Keys(Case):
    def test_actions_that_were_skipped(self):
        for seed in range(3):
            whole = made(seed)
            for action in ACTIONS:
                snapshot = copy.deepcopy(whole)
                snapshot["device_traces"] = [[e for e in t if e["action"] != action]
                                             for t in snapshot["device_traces"]]
                with self.subTest(seed=seed, action=action):
                    db = self.load(snapshot)
                    self.assertEqual(db.execute(LIVING).fetchall(), living(snapshot))
                    if action in ("free_requested", "free_completed"):
                        # Without requests nothing says when a block began to wait for a stream.
                        waiting = sum("free" in b["state"] for g in snapshot["segments"]
                                      for b in g["blocks"])
                        lost = db.execute("SELECT coalesce(sum(n), 0) FROM lost").fetchone()[0]
                        self.assertEqual(lost, waiting if action == "free_requested" else 0)
                        births = [(e["addr"], e["size"]) for e in snapshot["device_traces"][0]
                                  if e["action"] == "alloc"]
                        rows = db.execute("SELECT address, requested FROM allocation "
                                          "ORDER BY seq").fetchall()
                        self.assertEqual(rows, births)

    def test_annotations_of_tensors_are_marks(self):
        snapshot = made()
        trace = snapshot["device_traces"][0]
        at, born = next((i, e) for i, e in enumerate(trace) if e["action"] == "alloc")
        trace.insert(at + 1, {"action": "annotate", "addr": born["addr"], "size": 0, "stream": 0,
                              "time_us": born.get("time_us", 0), "pool_id": (0, 0),
                              "user_metadata": "layer 3: weight", "frames": []})
        trace.insert(at + 2, {"action": "annotate", "addr": born["addr"], "size": 0, "stream": 0,
                              "time_us": born.get("time_us", 0)})
        db = self.load(snapshot)
        self.assertEqual(db.execute("SELECT name, value FROM mark ORDER BY seq").fetchall(),
                         [("layer 3: weight", born["addr"]), ("annotate", born["addr"])])
        self.assertNotIn("warning", self.said)
        self.assertEqual(db.execute(LIVING).fetchall(), living(snapshot))

    def test_texts_of_events_change_no_block(self):
        plain, snapshot = made(), made()
        for entry in snapshot["device_traces"][0]:
            entry.update(user_metadata="epoch 1", compile_context="0/0")
        rows = [self.load(s).execute("SELECT address, size, requested, alloc_ns, life_ns, heap, site FROM "
                                     "allocation ORDER BY seq").fetchall()
                for s in (plain, snapshot)]
        self.assertEqual(rows[0], rows[1])

    def test_a_history_that_overflowed(self):
        for overflowed in (True, False):
            db = self.load(made(allocator_settings={
                "PYTORCH_CUDA_ALLOC_CONF": "", "trace_alloc_overflowed": overflowed,
                "trace_alloc_max_entries": 1000}))
            rows = db.execute("SELECT value FROM setting WHERE key = 'history_overflowed'").fetchall()
            self.assertEqual(rows, [("1000",)] if overflowed else [])
            self.assertEqual("the history was full (1,000 events): older events were overwritten"
                             in self.said, overflowed)

    def test_snapshots_of_an_xpu(self):
        """The same keys, but for the name of the allocator's string; no pool_id, no annotations."""
        settings = {"PYTORCH_ALLOC_CONF": "expandable_segments:False", "expandable_segments": False}
        snapshot = made(allocator_settings=settings)
        for entry in snapshot["device_traces"][0]:
            entry.pop("pool_id", None)
        db = self.load(snapshot)
        self.assertEqual(db.execute("SELECT DISTINCT kind, ordinal FROM device").fetchall(), [("xpu", 0)])
        self.assertEqual(db.execute(LIVING).fetchall(), living(snapshot))
        self.assertEqual(dict(db.execute("SELECT key, value FROM setting"))["device_kind"], "xpu")
        self.assertEqual(dict(db.execute("SELECT key, value FROM setting"))["alloc_conf"],
                         "expandable_segments:False")
        self.assertIn("a snapshot of an XPU", self.said)
        for report in ("peak", "info", "frag", "timeline"):
            out = os.path.join(self.folder.name, f"{self.n}.db")
            said = subprocess.run([test_round_trip.TIDEMARK, report, out], capture_output=True, text=True)
            self.assertEqual(said.returncode, 0, said)
            self.assertIn("xpu:0", said.stdout)
        both = {**settings, "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}
        db = self.load(made(allocator_settings=both))
        self.assertEqual(db.execute("SELECT DISTINCT kind FROM device").fetchall(), [("cuda",)])
        self.assertNotIn("XPU", self.said)

    def host(self, seed, events=300):
        """Pinned memory as torch 2.14's CachingHostAllocator has it: a block in each segment, of a power
        of two, whose size is what the trace has; a free that waits for a stream comes later."""
        rng, trace, live, free, now = random.Random(seed), [], {}, {}, 5_000_000

        def tell(action, addr, size):
            trace.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": now,
                          "frames": [{"name": action, "filename": "data.py", "line": 3}]})
        for i in range(events):
            now += rng.choice((0, 1, 9))
            if live and rng.random() < 0.45:
                addr = rng.choice(sorted(live))
                size = live.pop(addr)
                tell("free_requested", addr, size)
                tell("free_completed", addr, size)
                free[addr] = size
            elif free and rng.random() < 0.2:
                addr, size = free.popitem()
                tell("segment_free", addr, size)
            elif free and rng.random() < 0.5:
                addr, size = free.popitem()
                live[addr] = size
                tell("alloc", addr, size)
            else:
                addr, size = 0x7e0000000000 + (i << 24), 1 << rng.randrange(6, 22)
                tell("segment_alloc", addr, size)
                tell("alloc", addr, size)
                live[addr] = size
        segments = [{"address": a, "total_size": n, "stream": 0, "segment_pool_id": (0, 0), "blocks": [
            {"address": a, "size": n, "state": "active_allocated" if a in live else "inactive",
             "frames": []}]} for a, n in sorted({**live, **free}.items())]
        return segments, trace, live

    def rows(self, db, kind):
        return db.execute("SELECT a.address, a.size, a.requested FROM allocation a JOIN heap h ON h.id = "
                          "a.heap JOIN device d ON d.id = h.device WHERE d.kind = ? ORDER BY a.seq",
                          (kind,)).fetchall()

    def test_pinned_host_memory(self):
        for nested in (False, True):
            for lost in (0, 100):
                segments, trace, live = self.host(3)
                trace = trace[lost:]
                plain = made()
                db = self.load({**plain, "host_segments": segments,
                                "host_traces": [trace] if nested else trace})
                self.assertNotIn("warning", self.said)
                births = [(e["addr"], e["size"], None) for e in trace if e["action"] == "alloc"]
                rows = self.rows(db, "cpu")
                self.assertEqual(rows[len(rows) - len(births):], births)
                now = db.execute("SELECT a.address, a.size FROM allocation a JOIN heap h ON h.id = a.heap "
                                 "WHERE h.name = 'pinned' AND life_ns = -70368744177664").fetchall()
                self.assertEqual(sorted(now), sorted(live.items()))
                self.assertEqual(self.rows(db, "cuda"), self.rows(self.load(plain), "cuda"))

    def test_the_host_s_trace_without_its_end(self):
        _, trace, _ = self.host(4)
        db = self.load({**made(), "host_traces": trace})
        self.assertEqual(self.rows(db, "cpu"), [(e["addr"], e["size"], None) for e in trace
                                                if e["action"] == "alloc"])
        self.assertEqual(db.execute("SELECT * FROM lost").fetchall(), [])

    def test_the_host_alone(self):
        segments, trace, live = self.host(5)
        for snapshot in ({"host_segments": segments, "host_traces": trace, "segments": [],
                          "device_traces": []}, {"segments": [], "host_segments": segments}):
            db = self.load(snapshot)
            now = db.execute("SELECT address, size FROM allocation WHERE life_ns = "
                             "-70368744177664").fetchall()
            self.assertEqual(sorted(now), sorted(live.items()))

    def test_pinned_host_memory_that_is_not_as_it_should_be(self):
        plain = made()
        want = self.rows(self.load(plain), "cuda")
        for host in ({"host_segments": [{"a": 1}]}, {"host_traces": [[{"b": 1}], [7]]},
                     {"host_traces": [[], []]}, {"host_segments": [[]]}):
            db = self.load({**plain, **host})
            self.assertEqual(self.rows(db, "cuda"), want)
            self.assertIn("some pinned host memory is in it that could not be read", self.said)
        self.load(made(host_segments=[], host_traces=[]))
        self.assertNotIn("pinned host memory", self.said)


if __name__ == "__main__":
    test_round_trip.TIDEMARK = sys.argv.pop(1)
    unittest.main(verbosity=1)
