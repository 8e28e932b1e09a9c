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
    until = next((int(value) for (value,) in db.execute(
        "SELECT value FROM setting WHERE key = 'rebuilt_until'")), 0)
    events = []
    blocks = []
    for seq, heap, address, size, requested, free_seq in db.execute(
            "SELECT seq, heap, address, size, requested, free_seq FROM allocation"):
        asked = size if requested is None else requested
        if seq > until:
            events.append((seq, ("alloc", seq, asked, streams[heap])))
        else:
            state = "awaiting" if 0 < free_seq <= until else "living"
            blocks.append((seq, address, size, asked, streams[heap], state))
        if free_seq > until:
            events.append((free_seq, ("give" if seq in idle else "free", seq, 0, 0)))
        if seq in idle:
            events.append((idle[seq], ("idle", seq, 0, 0)))
    gone = [(seq, ("empty", 0, 0, 0))
            for (seq,) in db.execute("SELECT free_seq FROM segment WHERE free_seq > 0")]
    recorded = dict(db.execute("SELECT seq, address FROM allocation WHERE seq > ?", (until,)))
    segments = [(address, size, streams[heap]) for address, size, heap in db.execute(
        "SELECT address, size, heap FROM segment WHERE seq <= ?", (until,))]
    db.close()
    return [op for _, op in sorted(events + gone)], recorded, (segments, blocks)


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

    def each(self, check):
        """`check` of each program, and of all even if one fails."""
        self.assertGreater(len(self.paths), 5)
        for path in self.paths:
            with self.subTest(os.path.basename(path)):
                check(path)

    def check_agreement(self, path):
        """Addresses have the same order in both, so offsets in segments are the same."""
        ops, recorded, before = operations(path)
        _, addresses = model.replay(ops, model.Settings(), before=before)
        self.assertEqual({seq: a % (1 << 33) for seq, a in addresses.items()},
                         {seq: a % (1 << 33) for seq, a in recorded.items()})

    def test_model_and_program_agree(self):
        self.each(self.check_agreement)

    def check_match(self, path):
        ops, recorded, before = operations(path)
        row = fit(path)[1]["fit"][0]
        self.assertEqual(row["address_match"], 1.0)
        self.assertEqual(row["segment_match"], 1.0)
        self.assertEqual(row["allocations"], len(recorded))
        self.assertEqual(row["adopted"], len(before[1]))
        self.assertEqual(row["adopted_bytes"], sum(block[2] for block in before[1]))
        heap, _ = model.replay(ops, model.Settings(), before=before)
        self.assertEqual(row["peak_reserved"], heap.peak_reserved)
        self.assertEqual(row["peak_allocated"], heap.peak_allocated)

    def test_addresses_match(self):
        self.each(self.check_match)

    def check_row(self, ops, before, row):
        settings = model.Settings(row["settings"])
        heap, _ = model.replay(ops, settings, before=before)
        self.assertEqual(row["peak_reserved"], heap.peak_reserved, row)
        self.assertEqual(row["peak_allocated"], heap.peak_allocated, row)
        heap = model.survives(ops, settings, row["smallest"], before)
        self.assertIsNotNone(heap, row)
        self.assertEqual(row["retries"], heap.retries, row)
        self.assertIsNone(model.survives(ops, settings, row["smallest"] - STEP, before), row)

    def check_settings(self, path):
        if "empties" in path:
            return  # the copy does not know where its cache was emptied
        bare = without_segments(path)
        ops, _, before = operations(bare)
        rows = {row["settings"]: row for row in fit(bare, "--table")[1]["settings"]}
        for settings in MODELLED:
            self.check_row(ops, before, rows[settings])
        self.assertEqual(len(rows), len(MODELLED))

    def test_settings(self):
        self.each(self.check_settings)

    def check_memory(self, path):
        """The first refusal is at the same request, with the same totals."""
        if "empties" in path:
            return
        bare = without_segments(path)
        ops, _, before = operations(bare)
        smallest = fit(bare)[1]["fit"][0]["smallest"]
        for memory in (smallest, smallest - STEP, smallest // 2, smallest // 10 + 1):
            code, tables = fit(bare, "--memory", str(memory))
            row = tables["memory"][0]
            heap = model.survives(ops, model.Settings(), memory, before)
            self.assertEqual(code, 0 if heap else 1)
            self.assertEqual(row["verdict"], "fits" if heap else "does not fit")
            if heap:
                self.assertEqual(row["peak_reserved"], heap.peak_reserved)
                self.assertEqual(row["retries"], heap.retries)
            elif row["allocation"] is None:
                self.assertIsNone(model.survives([], model.Settings(), memory, before))
            else:
                self.check_refusal(ops, before, memory, row)

    def test_memory(self):
        self.each(self.check_memory)

    def check_refusal(self, ops, before, memory, row):
        """Just before it, the model still lives; with it, not."""
        settings = model.Settings()
        at = next(i for i, op in enumerate(ops) if op[:2] == ("alloc", row["allocation"]))
        size = settings.round(ops[at][2])
        self.assertEqual(row["requested"], ops[at][2])
        self.assertEqual(row["segment_size"], model.segment_size(size))
        heap = model.survives(ops[:at], settings, memory, before)
        self.assertIsNotNone(heap)
        self.assertIsNone(model.survives(ops[:at + 1], settings, memory, before))
        self.assertEqual(row["allocated"], heap.allocated)
        model.settle(heap, heap.living)
        heap.empty_cache()
        self.assertEqual(row["reserved"], heap.reserved)
        holes = [block.size for segment in heap.segments if segment.key[1] == (size <= model.MIB)
                 for block in segment.blocks if block.state == "free"]
        self.assertEqual(row["free_bytes"], sum(holes))
        self.assertEqual(row["largest_hole"], max(holes, default=0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
