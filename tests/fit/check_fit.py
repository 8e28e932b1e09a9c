#!/usr/bin/env python3
"""check_fit.py TIDEMARK RECORD_PROGRAM: what `tidemark fit` says of random programs, against a slow
model of the policy that was written without it (model.py)."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import model

TIDEMARK, RECORD_PROGRAM = sys.argv[1:3]
STEP = 2 * model.MIB
MODELLED = ("", "max_split_size_mb:128", "max_split_size_mb:512", "expandable_segments:True",
            "roundup_power2_divisions:8", "garbage_collection_threshold:0.8")


def operations(path):
    """In the order of the record; an emptied cache is where segments went between two blocks."""
    db = sqlite3.connect(path)
    streams = dict(db.execute("SELECT id, stream FROM heap"))
    idle = dict(db.execute("SELECT allocation, seq FROM idle"))
    events = []
    for seq, heap, size, requested, free_seq in db.execute(
            "SELECT seq, heap, size, requested, free_seq FROM allocation"):
        asked = size if requested is None else requested
        events.append((seq, ("alloc", seq, asked, streams[heap])))
        if free_seq > 0:
            events.append((free_seq, ("give" if seq in idle else "free", seq, 0, 0)))
        if seq in idle:
            events.append((idle[seq], ("idle", seq, 0, 0)))
    gone = [(seq, ("empty", 0, 0, 0))
            for (seq,) in db.execute("SELECT free_seq FROM segment WHERE free_seq > 0")]
    recorded = dict(db.execute("SELECT seq, address FROM allocation"))
    db.close()
    return [op for _, op in sorted(events + gone)], recorded


def fit(path, *options):
    out = subprocess.run([TIDEMARK, "fit", path, "--format", "json", *options],
                         stdout=subprocess.PIPE, check=False)
    return out.returncode, json.loads(out.stdout)["tables"]


def without_segments(path):
    """A copy in which nothing says where segments were: every replay has its own addresses."""
    copy = path.replace(".db", ".bare.db")
    with open(path, "rb") as source, open(copy, "wb") as target:
        target.write(source.read())
    db = sqlite3.connect(copy)
    db.execute("DELETE FROM segment")
    db.commit()
    db.close()
    return copy


class Fit(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([RECORD_PROGRAM, cls.folder.name], check=True, stdout=subprocess.DEVNULL)
        cls.paths = sorted(os.path.join(cls.folder.name, name)
                           for name in os.listdir(cls.folder.name) if name.endswith(".db"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        self.assertGreater(len(self.paths), 5)
        for path in self.paths:
            with self.subTest(os.path.basename(path)):
                yield path

    def test_model_and_program_agree(self):
        """Addresses have the same order in both, so offsets in segments are the same."""
        for path in self.each():
            ops, recorded = operations(path)
            _, addresses = model.replay(ops, model.Settings())
            spot = 1 << 33
            self.assertEqual({seq: a % (1 << 40) for seq, a in addresses.items()},
                             {seq: a % spot for seq, a in recorded.items()})

    def test_addresses_match(self):
        for path in self.each():
            row = fit(path)[1]["fit"][0]
            self.assertEqual(row["address_match"], 1.0)
            self.assertEqual(row["segment_match"], 1.0)

    def check_row(self, ops, row):
        settings = model.Settings(row["settings"])
        heap, _ = model.replay(ops, settings)
        self.assertEqual(row["peak_reserved"], heap.peak_reserved, row)
        self.assertEqual(row["peak_allocated"], heap.peak_allocated, row)
        heap = model.survives(ops, settings, row["smallest"])
        self.assertIsNotNone(heap, row)
        self.assertEqual(row["retries"], heap.retries, row)
        self.assertIsNone(model.survives(ops, settings, row["smallest"] - STEP), row)

    def test_settings(self):
        for path in self.each():
            ops, _ = operations(path)
            if "empties" in path:
                continue  # the copy does not know where its cache was emptied
            rows = {row["settings"]: row
                    for row in fit(without_segments(path), "--table")[1]["settings"]}
            for settings in MODELLED:
                self.check_row(ops, rows[settings])
            self.assertEqual(len(rows), len(MODELLED))

    def test_memory(self):
        """The first refusal is at the same request, with the same totals."""
        for path in self.each():
            ops, _ = operations(path)
            if "empties" in path:
                continue
            bare = without_segments(path)
            smallest = fit(bare)[1]["fit"][0]["smallest"]
            for memory in (smallest, smallest - STEP, smallest // 2, smallest // 10 + 1):
                code, tables = fit(bare, "--memory", str(memory))
                row = tables["memory"][0]
                heap = model.survives(ops, model.Settings(), memory)
                self.assertEqual(code, 0 if heap else 1)
                self.assertEqual(row["verdict"], "fits" if heap else "does not fit")
                if heap:
                    self.assertEqual(row["peak_reserved"], heap.peak_reserved)
                    self.assertEqual(row["retries"], heap.retries)
                else:
                    self.check_refusal(ops, memory, row)

    def check_refusal(self, ops, memory, row):
        """Just before it, the model still lives; with it, not."""
        at = next(i for i, op in enumerate(ops) if op[:2] == ("alloc", row["allocation"]))
        self.assertEqual(row["requested"], ops[at][2])
        self.assertEqual(row["segment_size"], model.segment_size(model.Settings().round(ops[at][2])))
        heap = model.survives(ops[:at], model.Settings(), memory)
        self.assertIsNotNone(heap)
        self.assertIsNone(model.survives(ops[:at + 1], model.Settings(), memory))
        self.assertEqual(row["allocated"], heap.allocated)
        model.settle(heap, heap.living)
        heap.empty_cache()
        self.assertEqual(row["reserved"], heap.reserved)
        small = heap.settings.round(ops[at][2]) <= model.MIB
        holes = [block.size for segment in heap.segments if segment.key[1] == small
                 for block in segment.blocks if block.state == "free"]
        self.assertEqual(row["free_bytes"], sum(holes))
        self.assertEqual(row["largest_hole"], max(holes, default=0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
