"""test_texts.py TIDEMARK: user_metadata and compile_context of a snapshot's events become phases. Of
generated snapshots each block is looked up in the phases around it."""
import base64
import copy
import os
import random
import re
import subprocess
import sys
import unittest

import heap_model
import test_round_trip
from heap_model import KIB, MIB
from test_round_trip import Case

BASE = 0x7F0000000000
PHASES = """\
Phases of process 1 (pid 0) on cuda:0
highest: 4.0 MiB in epoch 1 > compiled region 0/0
step  phase                  allocated  max alloc  reserved  max resv  phase peak     time
      other                    1.0 MiB    1.0 MiB  20.0 MiB  20.0 MiB     1.0 MiB  20.0 us
      epoch 1                  2.0 MiB    4.0 MiB  20.0 MiB  20.0 MiB     4.0 MiB  60.0 us
        compiled region 0/0    3.0 MiB    4.0 MiB  20.0 MiB  20.0 MiB     4.0 MiB  20.0 us
      compiled region fn 1     2.0 MiB    4.0 MiB  20.0 MiB  20.0 MiB     3.0 MiB  10.0 us
      epoch 2                  3.0 MiB    4.0 MiB  20.0 MiB  20.0 MiB     3.0 MiB     0 ns
2 gaps between phases without allocations: --all shows them
"""
PEAK = "Peak: 4.0 MiB allocated on cuda:0, epoch 1 > compiled region 0/0\n"


def small():
    """Six blocks of a segment of 20 MiB, with texts as torch 2.14 writes them."""
    now, trace, blocks = [1_700_000_000_000_000], [], []

    def tell(action, offset, size, user="", compiled="N/A"):
        trace.append({"action": action, "addr": BASE + offset, "size": size, "stream": 0,
                      "time_us": now[0], "compile_context": compiled, "user_metadata": user,
                      "pool_id": (0, 0), "frames": [{"name": "step", "filename": "train.py", "line": 7}]})
        now[0] += 10

    def free(offset, size, *texts):
        tell("free_requested", offset, size, *texts)
        now[0] -= 10
        tell("free_completed", offset, size, *texts)
    tell("segment_alloc", 0, 20 * MIB)
    tell("alloc", 0, 1 * MIB)
    region = "Torch-Compiled Region: 0/0"
    tell("alloc", 1 * MIB, 1 * MIB, "epoch 1")
    tell("alloc", 2 * MIB, 1 * MIB, "epoch 1", region)
    tell("alloc", 3 * MIB, 1 * MIB, "epoch 1", region)
    free(0, 1 * MIB, "epoch 1", region)
    free(1 * MIB, 1 * MIB, "epoch 1")
    tell("annotate", 2 * MIB, 0, "a name of a block")
    tell("snapshot", 0, 0, "epoch 1")
    tell("alloc", 4 * MIB, 1 * MIB, "", "fn 1")
    free(4 * MIB, 1 * MIB, "", "fn 1")
    tell("alloc", 4 * MIB, 1 * MIB, "epoch 2")
    for offset, size, state in ((0, 2, "inactive"), (2, 1, "active_allocated"), (3, 1, "active_allocated"),
                                (4, 1, "active_allocated"), (5, 15, "inactive")):
        blocks.append({"address": BASE + offset * MIB, "size": size * MIB, "requested_size": size * MIB,
                       "state": state, "frames": []})
    return {"segments": [{"address": BASE, "total_size": 20 * MIB, "stream": 0, "device": 0,
                          "segment_pool_id": (0, 0), "blocks": blocks}], "device_traces": [trace]}


def generated(seed, devices=1):
    """A model's heaps, with texts that change now and then."""
    rng, clock = random.Random(seed), [1_700_000_000_000_000]
    heaps = [heap_model.Heap(d, heap_model.seeded(seed + d), clock=clock) for d in range(devices)]
    for heap in heaps:
        heap_model.run(heap, 150, waits=0.2)
        texts = ["", "N/A"]
        for entry in heap.trace:
            if rng.random() < 0.1:
                texts[0] = rng.choice(("", "encode", "decode"))
            if rng.random() < 0.1:
                texts[1] = rng.choice(("N/A", "", "0/0", "Torch-Compiled Region: 1/0"))
            entry.update(user_metadata=texts[0], compile_context=texts[1])
    return {"segments": [s for h in heaps for s in h.describe()], "device_traces": [h.trace for h in heaps]}


def region(text):
    return "" if text in ("", "N/A") else "compiled region " + text.split(": ")[-1]


def notes_of(rng, snapshot, count):
    """Annotations that nest, cross, or have no end, and steps that follow each other."""
    times = [e["time_us"] for t in snapshot["device_traces"] for e in t]
    notes = []
    for i in range(count):
        at = sorted(rng.randrange(min(times) - 5, max(times) + 5) for _ in range(2))
        name = rng.choice((f"range {i}", "encode"))
        for stage, time in zip(("START", "END")[:1 if rng.random() < 0.1 else 2], at):
            notes.append({"name": name, "stage": stage, "device": 0, "time_us": time})
    for i, at in enumerate(range(min(times), max(times), 60)):
        for stage, time in (("START", at), ("END", at + 50)):
            notes.append({"name": f"ProfilerStep#{i}", "stage": stage, "device": 0, "time_us": time})
        notes += [{"name": "Optimizer.step#SGD.step", "stage": s, "device": 0, "time_us": at + t}
                  for s, t in (("START", 35), ("END", 45))]
    return sorted(notes, key=lambda n: n["time_us"])


class Texts(Case):
    def report(self, *words):
        out = os.path.join(self.folder.name, f"{self.n}.db")
        said = subprocess.run([test_round_trip.TIDEMARK, *words[:1], out, *words[1:]], capture_output=True,
                              text=True)
        self.assertEqual(said.returncode, 0, said)
        return said.stdout

    def whole(self, db):
        """The program's phases nest, each has its end, and nothing was odd."""
        self.assertEqual(db.execute("SELECT * FROM anomaly WHERE kind != 'phase left open'").fetchall(),
                         [])
        self.assertEqual(db.execute("SELECT * FROM lost").fetchall(), [])
        self.assertEqual(db.execute(
            "SELECT p.name FROM phase p JOIN phase o ON o.id = p.parent WHERE p.thread = o.thread AND "
            "o.kind = 'user' AND NOT "
            "(p.begin_seq >= o.begin_seq AND p.end_seq <= o.end_seq)").fetchall(), [])
        self.assertEqual(db.execute("SELECT name FROM phase WHERE ended = 'unbalanced'").fetchall(), [])

    def around(self, db):
        """Of each block of device 0 the user's phases in which it came, outermost first."""
        found = {}
        for seq, address, device, name in db.execute(
                "SELECT a.seq, a.address, d.ordinal, p.name FROM allocation a JOIN heap h ON h.id = a.heap "
                "JOIN device d ON d.id = h.device LEFT JOIN phase p ON p.kind = 'user' AND a.seq BETWEEN "
                "p.begin_seq AND p.end_seq ORDER BY a.seq, p.begin_seq"):
            found.setdefault((seq, address, device), []).append(name or "")
        return [(key[2], names) for key, names in sorted(found.items())]

    def test_phases_and_peak(self):
        db = self.load(small())
        self.whole(db)
        self.assertEqual(self.report("phases"), PHASES)
        self.assertEqual(self.report("peak").splitlines(True)[0], PEAK)
        self.assertEqual(db.execute("SELECT name FROM mark ORDER BY seq").fetchall(),
                         [("a name of a block",), ("snapshot",)])
        self.assertNotIn("warning", self.said)
        page = os.path.join(self.folder.name, "page.html")
        self.report("html", "-o", page)
        with open(page, encoding="utf-8") as f:
            data = re.search(r'<script id="data"[^>]*>([^<]*)<', f.read()).group(1)
        self.assertIn(b"compiled region 0/0", base64.b64decode(data))

    def test_texts_that_say_nothing(self):
        """An import without the keys is the same as one with empty texts."""
        texts = ({}, {"user_metadata": "", "compile_context": "N/A"}, {"user_metadata": None})
        dumps = []
        for given in texts:
            snapshot = generated(5)
            snapshot["external_annotations"] = notes_of(random.Random(1), snapshot, 20)
            for entry in snapshot["device_traces"][0]:
                del entry["user_metadata"], entry["compile_context"]
                entry.update(given)
            db = self.load(snapshot)
            dumps.append([db.execute(f"SELECT * FROM {t}").fetchall() for t in
                          ("phase", "allocation", "mark", "anomaly", "stretch")])
        self.assertEqual(dumps[0], dumps[1])
        self.assertEqual(dumps[0], dumps[2])

    def test_each_block_is_in_its_texts(self):
        for seed in range(6):
            snapshot = generated(seed)
            db = self.load(snapshot)
            self.whole(db)
            want = [(0, [n for n in (e["user_metadata"], region(e["compile_context"])) if n] or [""])
                    for e in snapshot["device_traces"][0] if e["action"] == "alloc"]
            found = self.around(db)
            self.assertEqual(found[len(found) - len(want):], want)

    def test_among_annotations(self):
        for seed in range(25):
            snapshot = generated(seed)
            snapshot["external_annotations"] = notes_of(random.Random(seed), snapshot, 1 + 2 * seed)
            with self.subTest(seed=seed):
                db = self.load(snapshot)
                self.whole(db)
                texts = {"encode", "decode"} - {n["name"] for n in snapshot["external_annotations"]}
                want = [[n for n in (e["user_metadata"],) if n in texts] + [n for n in (
                    region(e["compile_context"]),) if n]
                    for e in snapshot["device_traces"][0] if e["action"] == "alloc"]
                found = [[n for n in names if n in texts or n.startswith("compiled")]
                         for _, names in self.around(db)]
                self.assertEqual(found[len(found) - len(want):], want)

    def test_an_annotation_that_crosses(self):
        """It ends inside of the run, so the run is cut there; one that is inside of it is not."""
        snapshot = small()
        at = snapshot["device_traces"][0][0]["time_us"]
        snapshot["external_annotations"] = [
            {"name": "load", "stage": "START", "device": 0, "time_us": at + 5},
            {"name": "load", "stage": "END", "device": 0, "time_us": at + 35},
            {"name": "inner", "stage": "START", "device": 0, "time_us": at + 45},
            {"name": "inner", "stage": "END", "device": 0, "time_us": at + 55}]
        db = self.load(snapshot)
        self.whole(db)
        rows = db.execute("SELECT p.name, o.name FROM phase p LEFT JOIN phase o ON o.id = p.parent "
                          "WHERE p.kind = 'user' ORDER BY p.begin_seq, p.id").fetchall()
        self.assertEqual(rows, [
            ("load", None), ("epoch 1", "load"), ("compiled region 0/0", "epoch 1"), ("epoch 1", None),
            ("compiled region 0/0", "epoch 1"), ("inner", "compiled region 0/0"),
            ("compiled region fn 1", None), ("epoch 2", None)])

    def test_several_devices(self):
        """Merged by time; a device that has no texts at all ends none."""
        snapshot = generated(3, devices=2)
        db = self.load(snapshot)
        self.whole(db)
        for device, trace in enumerate(snapshot["device_traces"]):
            want = [[n for n in (e["user_metadata"], region(e["compile_context"])) if n] or [""]
                    for e in trace if e["action"] == "alloc"]
            found = [names for d, names in self.around(db) if d == device]
            self.assertEqual(found[len(found) - len(want):], want)
        alone, both = small(), small()
        other = copy.deepcopy(alone["device_traces"][0])
        for entry in other:
            entry.update(user_metadata="", compile_context="N/A", addr=entry["addr"] + (1 << 36))
        both["device_traces"].append(other)
        names = [self.load(s).execute("SELECT name FROM phase WHERE kind = 'user' ORDER BY id").fetchall()
                 for s in (alone, both)]
        self.assertEqual(names[0], names[1])

    def test_texts_that_are_meant_to_hurt(self):
        for text in ("\x1b[2J\r\n\x07<script>alert(1)</script>", "\udce9".encode("utf-8", "surrogatepass")
                     .decode("utf-8", "replace"), "x" * (4 << 20), "\0hidden", "%s%n" * 50):
            snapshot = small()
            for i, entry in enumerate(snapshot["device_traces"][0]):
                entry.update(user_metadata=text if i % 2 else "b", compile_context=text if i % 3 else "N/A")
            db = self.load(snapshot)
            self.whole(db)
            self.assertEqual("text was cut" in self.said, len(text) > 32 * KIB)
            for report in ("phases", "peak", "timeline"):
                out = self.report(report)
                self.assertFalse([c for c in out if ord(c) < 32 and c != "\n"], report)
        snapshot = small()
        for entry, odd in zip(snapshot["device_traces"][0], (3, 1.5, [], {}, (1, 2), b"x", True)):
            entry.update(user_metadata=odd, compile_context=odd)
        self.whole(self.load(snapshot))
        self.assertIn("not of the kind expected", self.said)


if __name__ == "__main__":
    test_round_trip.TIDEMARK = sys.argv.pop(1)
    unittest.main(verbosity=1)
