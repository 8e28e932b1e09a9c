"""test_damage.py TIDEMARK: histories with events missing, doubled, moved and changed.

Whatever the trace says, what lives at the end is what the segments say, every row is whole, and the
sums that are stored are those of the rows.
"""
import copy
import pickle
import sys
import unittest

import heap_model
import test_round_trip
from test_round_trip import LIVING, Case, living


def snapshot_of(seed, **more):
    heap = heap_model.Heap(0, heap_model.seeded(seed), **more)
    heap_model.run(heap, 120, streams=(0, 5), waits=0.2)
    return {"segments": heap.describe(), "device_traces": [heap.trace]}


def drop(rng, trace):
    for _ in range(rng.randrange(1, 20)):
        if trace:
            del trace[rng.randrange(len(trace))]


def double(rng, trace):
    for _ in range(rng.randrange(1, 20)):
        at = rng.randrange(len(trace))
        trace.insert(at + rng.randrange(0, 3), copy.copy(trace[at]))


def swap(rng, trace):
    for _ in range(rng.randrange(1, 20)):
        i, j = rng.randrange(len(trace)), rng.randrange(len(trace))
        trace[i], trace[j] = trace[j], trace[i]


def change(rng, trace):
    for _ in range(rng.randrange(1, 20)):
        at = rng.randrange(len(trace))
        entry = trace[at] = copy.copy(trace[at])
        other = trace[rng.randrange(len(trace))]
        key = rng.choice(["addr", "size", "stream", "action", "time_us"])
        entry[key] = rng.choice([other.get(key, 0), 0, 1, 512, 2 ** 62 if key == "size" else 7])


def forget_kind(rng, trace):
    kind = rng.choice(["alloc", "free_requested", "free_completed", "segment_alloc",
                       "segment_free"])
    trace[:] = [e for e in trace if e["action"] != kind]


DAMAGES = (drop, double, swap, change, forget_kind)


class Damage(Case):
    def check(self, snapshot):
        db = self.tidemark(pickle.dumps(snapshot))
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        got = [row[:3] for row in db.execute(LIVING)]
        self.assertEqual(got, [row[:3] for row in living(snapshot)])
        # The last phase's sums are those of the rows.
        allocated = db.execute("SELECT allocated FROM phase_table ORDER BY end_ns DESC, "
                               "phase_id DESC LIMIT 1").fetchone()
        if allocated:
            self.assertEqual(allocated[0], sum(row[2] for row in got))
        rows = db.execute("SELECT count(*) FROM allocation WHERE size < 0 OR life_ns < 0 AND "
                          "life_ns <> -70368744177664").fetchone()[0]
        self.assertEqual(rows, 0)
        return db

    def damaged(self, damages, seeds, **more):
        for seed in seeds:
            snapshot = snapshot_of(seed, **more)
            rng = heap_model.seeded(1000 + seed)
            for damage in damages:
                damage(rng, snapshot["device_traces"][0])
            with self.subTest(seed=seed, damages=[d.__name__ for d in damages]):
                self.check(snapshot)

    def test_nothing_is_damaged(self):
        self.damaged((), range(2))
        self.assertNotIn("warning", self.said)

    def test_each_damage(self):
        for damage in DAMAGES:
            self.damaged((damage,), range(6))

    def test_all_of_them(self):
        self.damaged(DAMAGES, range(8))

    def test_expandable_segments(self):
        for damage in DAMAGES:
            self.damaged((damage,), range(3), expandable=True)

    def test_the_trace_of_another_heap(self):
        for seed in range(4):
            mine, other = snapshot_of(seed), snapshot_of(seed + 50)
            mine["device_traces"] = other["device_traces"]
            self.check(mine)

    def test_one_trace_twice(self):
        snapshot = snapshot_of(3)
        trace = snapshot["device_traces"][0]
        snapshot["device_traces"] = [trace + trace]
        self.check(snapshot)
        snapshot["device_traces"] = [trace, trace]
        self.tidemark(pickle.dumps(snapshot))

    def test_only_the_end_of_a_trace_or_none(self):
        for seed in range(4):
            snapshot = snapshot_of(seed)
            trace = snapshot["device_traces"][0]
            for keep in (0, 1, 2, 10):
                snapshot["device_traces"] = [trace[len(trace) - keep:]]
                self.check(snapshot)


if __name__ == "__main__":
    test_round_trip.TIDEMARK = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
