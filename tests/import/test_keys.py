"""test_keys.py TIDEMARK: what snapshots of torch 2.8 to 2.14 have besides: annotations of tensors, a
history that overflowed, actions that were not recorded, pinned host memory. The snapshots are made."""
import copy
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

    def test_metadata_of_a_thread_changes_nothing(self):
        plain, snapshot = made(), made()
        for entry in snapshot["device_traces"][0]:
            entry.update(user_metadata="epoch 1", compile_context="0/0")
        rows = [self.load(s).execute("SELECT * FROM allocation ORDER BY seq").fetchall()
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
        self.assertEqual(db.execute("SELECT DISTINCT kind, ordinal FROM device").fetchall(), [("other", 0)])
        self.assertEqual(db.execute(LIVING).fetchall(), living(snapshot))
        self.assertEqual(dict(db.execute("SELECT key, value FROM setting"))["device_kind"], "xpu")
        self.assertEqual(dict(db.execute("SELECT key, value FROM setting"))["alloc_conf"],
                         "expandable_segments:False")
        self.assertIn("a snapshot of an XPU", self.said)
        both = {**settings, "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}
        db = self.load(made(allocator_settings=both))
        self.assertEqual(db.execute("SELECT DISTINCT kind FROM device").fetchall(), [("cuda",)])
        self.assertNotIn("XPU", self.said)

    def test_pinned_host_memory_is_left_out(self):
        plain, host = made(), made(seed=5)
        snapshot = made(host_segments=host["segments"], host_traces=host["device_traces"])
        rows = [self.load(s).execute("SELECT * FROM allocation ORDER BY seq").fetchall()
                for s in (plain, snapshot)]
        self.assertEqual(rows[0], rows[1])
        self.assertIn("pinned host memory is in it, and was left out", self.said)
        self.load(made(host_segments=[], host_traces=[]))
        self.assertNotIn("pinned host memory", self.said)


if __name__ == "__main__":
    test_round_trip.TIDEMARK = sys.argv.pop(1)
    unittest.main(verbosity=1)
