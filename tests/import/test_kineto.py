"""test_kineto.py TIDEMARK: traces of torch.profiler: real ones that lie here (torch 2.6 and 2.14, a
CPU), and made ones, of devices, threads and orders that these have not."""
import glob
import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TIDEMARK = None
HERE = os.path.dirname(os.path.abspath(__file__))


def memory(ts, addr, size, total=None, device=0, kind=1, tid=1, **more):
    args = {"Addr": addr, "Bytes": size, "Device Type": kind, "Device Id": device if kind else -1}
    if total is not None:
        args["Total Allocated"], args["Total Reserved"] = total
    args.update(more)
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 77,
            "tid": tid, "ts": ts, "args": args}


def span(name, ts, dur, cat="user_annotation", tid=1):
    return {"ph": "X", "cat": cat, "name": name, "pid": 77, "tid": tid, "ts": ts, "dur": dur,
            "args": {"Ev Idx": 7}}


class Kineto(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def load_text(self, text, *options, code=0):
        path, self.out = (os.path.join(self.folder.name, n) for n in ("t.json", "out.db"))
        if os.path.exists(self.out):
            os.unlink(self.out)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        p = subprocess.run([TIDEMARK, "import", path, "-o", self.out, *options],
                           capture_output=True, text=True)
        self.said = p.stderr
        self.assertEqual(p.returncode, code, p.stderr)
        self.assertEqual(os.path.exists(self.out), code == 0)
        return sqlite3.connect(self.out) if code == 0 else None

    def load(self, events, *options, code=0, **top):
        return self.load_text(json.dumps({"schemaVersion": 1, **top, "traceEvents": events}),
                              *options, code=code)

    def test_real_traces(self):
        files = sorted(glob.glob(os.path.join(HERE, "traces", "*.json")))
        self.assertEqual(len(files), 2)
        for path in files:
            with open(path, "rb") as f:
                text = f.read()
            db = self.load_text(text)
            events = json.loads(text)["traceEvents"]
            told = [e for e in events if e["name"] == "[memory]"]
            self.assertGreater(len(told), 20)
            births = [(e["args"]["Addr"], e["args"]["Bytes"]) for e in told
                      if e["args"]["Bytes"] > 0]
            rows = db.execute("SELECT address, size FROM allocation ORDER BY seq").fetchall()
            self.assertEqual(rows, births)
            highest = max(e["args"]["Total Allocated"] for e in told)
            self.assertEqual(db.execute("SELECT allocated FROM peak").fetchall(), [(highest,)])
            steps = {e["name"] for e in events if e["name"].startswith("ProfilerStep#")}
            steps = sorted(int(n.split("#")[1]) for n in steps)
            got = db.execute("SELECT DISTINCT step FROM phase WHERE step IS NOT NULL ORDER BY 1")
            self.assertEqual([r[0] for r in got], steps)
            self.assertEqual(db.execute("SELECT * FROM anomaly").fetchall(), [])
            started = db.execute("SELECT value FROM meta WHERE key = 'started'").fetchone()[0]
            self.assertTrue(started.startswith("2026-"), started)

    def test_kinds_of_devices(self):
        """By c10's numbers: 12 is an XPU, 13 MPS, of which nothing else is known here."""
        db = self.load([memory(1000 + kind, 4096 * kind, 512, device=1, kind=kind) for kind in (1, 12, 13)])
        self.assertEqual(db.execute("SELECT kind, ordinal FROM device ORDER BY id").fetchall(),
                         [("cuda", 1), ("xpu", 1), ("other", 1)])

    def test_events_of_an_old_torch(self):
        old = [memory(1000 + i, 0, (-1) ** i * 512) for i in range(4)]
        for event in old:
            del event["args"]["Addr"]
        self.load(old, code=3)
        self.assertIn("have no addresses", self.said)
        self.load(old + [memory(2000, 4096, 512)])
        self.assertIn("4 values were not of the kind expected", self.said)

    def test_devices_and_what_lived_before(self):
        rng, events, now, live, births, before = random.Random(4), [], 1000.0, {}, [], []
        held = {0: 5 << 30, 1: 7 << 30}
        early = [(0, 0x7f0000000000 + (i << 24), 512 * (i + 1)) for i in range(9)]
        live = {(d, a): s for d, a, s in early}
        for i in range(2000):
            now += rng.choice((0, 0.001, 0.5, 20))
            if live and rng.random() < 0.5:
                device, addr = rng.choice(sorted(live))
                size = live.pop((device, addr))
                if (device, addr, size) in early:
                    before.append((addr, size, device))
                held[device] -= size
                size = -size
            else:
                device, addr = rng.randrange(2), rng.randrange(1, 1 << 30) << 9
                size = rng.randrange(1, 1000) * 512
                if (device, addr) in live:
                    continue
                live[device, addr] = size
                births.append((addr, size, device))
                held[device] += size
            events.append(memory(now, addr, size, (held[device], held[device] + (1 << 20)), device,
                                 tid=rng.choice((1, 2))))
        db = self.load(events)
        rows = db.execute("SELECT a.address, a.size, d.ordinal FROM allocation a JOIN heap h ON h.id "
                          "= a.heap JOIN device d ON d.id = h.device ORDER BY a.seq").fetchall()
        self.assertEqual(sorted(rows[:len(before)]), sorted(before))
        early = [rows.pop(len(before)) for _ in held]
        rest = [most - sum(size for _, size, at in before if at == device)
                for device, most in ((0, 5 << 30), (1, 7 << 30))]
        self.assertEqual(sorted((at, size) for _, size, at in early), list(enumerate(rest)))
        self.assertEqual(rows[len(before):], births)
        self.assertEqual(db.execute("SELECT kind, ordinal FROM device ORDER BY 2").fetchall(),
                         [("cuda", 0), ("cuda", 1)])
        reserved = dict(db.execute("SELECT d.ordinal, max(p.max_reserved) FROM phase_device p JOIN "
                                   "device d ON d.id = p.device GROUP BY 1"))
        for device in (0, 1):
            most = max(e["args"]["Total Reserved"] for e in events
                       if e["args"]["Device Id"] == device)
            self.assertEqual(reserved[device], most)
            most = max(e["args"]["Total Allocated"] for e in events
                       if e["args"]["Device Id"] == device)
            self.assertEqual(db.execute("SELECT allocated FROM peak WHERE device = ?",
                                        ("cuda:%d" % device,)).fetchone(), (most,))
        self.assertEqual(db.execute("SELECT count(*) FROM anomaly").fetchone(), (0,))
        self.assertIn("%d blocks live when it began" % len(before), self.said)
        self.assertIn("live all the time: one block on each device", self.said)

    def test_the_order_in_the_file_does_not_matter(self):
        events = [memory(10 + i, 256 * (1 + i // 2), 512 if i % 2 == 0 else -512)
                  for i in range(400)]
        random.Random(1).shuffle(events)
        db = self.load(events)
        self.assertEqual(db.execute("SELECT count(*), sum(life_ns), min(life_ns) FROM allocation")
                         .fetchall(), [(200, 200 * 1000, 1000)])

    def test_ranges_are_call_stacks(self):
        db = self.load([
            span("ProfilerStep#5", 0, 100), span("outer", 1, 90), span("aten::linear", 10, 10, "cpu_op"),
            span("aten::empty", 11, 1, "cpu_op"), memory(11, 256, 512),
            span("kernel", 0, 100, "kernel"), memory(25, 1024, 512),
            span("aten::mm", 30, 5, "cpu_op", tid=2), memory(31, 2048, 512, tid=2),
            memory(32, 4096, 512), memory(200, 8192, 512)])
        frames = self.stacks(db)
        self.assertEqual(frames, [["aten::linear", "outer"], ["outer"], ["aten::mm"], ["outer"], []])
        self.assertEqual(db.execute("SELECT DISTINCT step FROM phase WHERE step IS NOT NULL").fetchall(),
                         [(5,)])
        db = self.load([span("aten::linear", 10, 10, "cpu_op"), span("aten::empty", 11, 1, "cpu_op"),
                        memory(11, 256, 512)], "--all-frames")
        self.assertEqual(self.stacks(db), [["aten::empty", "aten::linear"]])

    def test_frames_of_python_alone(self):
        events = [span("train.py(12): forward", 0, 100, "python_function"),
                  span("<built-in method mm of type object at 0x7f>", 5, 50, "python_function"),
                  span("aten::mm", 10, 10, "cpu_op"), memory(11, 256, 512)]
        db = self.load(events)
        self.assertEqual(self.stacks(db), [["forward train.py:12"]])
        db = self.load(events, "--all-frames")
        self.assertEqual(self.stacks(db),
                         [["aten::mm", "<built-in method mm", "forward train.py:12"]])

    def stacks(self, db):
        """Of each block, its frames, innermost first."""
        out = []
        for (site,) in db.execute("SELECT site FROM allocation ORDER BY seq").fetchall():
            rows = db.execute(
                "SELECT n.text, p.text, f.line FROM site s JOIN frame f ON f.id = s.frame LEFT JOIN "
                "string n ON n.id = f.function LEFT JOIN string p ON p.id = f.file "
                "WHERE s.site = ? ORDER BY s.depth", (site,)).fetchall()
            out.append([fn if not line else f"{fn} {file}:{line}" for fn, file, line in rows])
        return out

    def test_refusals(self):
        events = [memory(1, 256, 512), {**memory(2, 0, 1 << 40, (512, 2048)), "name": "[OutOfMemory]"}]
        db = self.load(events)
        self.assertEqual(db.execute("SELECT asked, allocated, reserved FROM oom").fetchall(),
                         [(1 << 40, 512, 2048)])

    def test_marks_of_optimizers(self):
        events = []
        for step in range(3):
            at = step * 100
            events += [span("Optimizer.zero_grad#SGD.zero_grad", at, 5),
                       memory(at + 10, 256 * (step + 1), 512),
                       span("Optimizer.step#SGD.step", at + 50, 20)]
        self.load(events)
        p = subprocess.run([TIDEMARK, "phases", self.out], capture_output=True, text=True)
        self.assertIn("optimizer", p.stdout)
        self.assertIn("zero_grad", p.stdout)

    def test_the_older_forms(self):
        events = [span("aten::mm", 1700000000000000, 10, "Operator"),
                  memory(1700000000000002, 256, 512)]
        db = self.load_text(json.dumps(events))
        self.assertEqual(self.stacks(db), [["aten::mm"]])
        started = db.execute("SELECT value FROM meta WHERE key = 'started'").fetchone()[0]
        self.assertTrue(started.startswith("2023-11-14T22:13:20"), started)
        db = self.load([memory("1.5", "4096", "512")])
        self.assertEqual(db.execute("SELECT address, size FROM allocation").fetchall(), [(4096, 512)])

    def test_the_base_may_stand_behind(self):
        for late in (False, True):
            base = '"baseTimeNanoseconds": 1700000000000000000'
            events = '"traceEvents": %s' % json.dumps([memory(5.5, 256, 512)])
            db = self.load_text("{%s,%s}" % ((events, base) if late else (base, events)))
            started = db.execute("SELECT value FROM meta WHERE key = 'started'").fetchone()[0]
            self.assertEqual(started, "2023-11-14T22:13:20.000005Z")

    def test_values_that_are_none(self):
        self.load([memory(1, 256, 512), memory(-1, 512, 512), memory(2, "x", 512),
                   memory(2, 512, None), {"ph": "i", "name": "[memory]"}, 7, None, "x", [[{}]]])
        self.assertIn("4 values were not of the kind expected", self.said)

    def test_what_is_no_trace(self):
        for text, why in (
                ("{}", "it is JSON, but no trace: no traceEvents"),
                ("[]", "it is a trace without [memory] events: torch.profiler writes them with "
                       "profile_memory=True"),
                ('{"traceEvents": []}', "without [memory] events"),
                ('{"traceEvents": 7}', "no traceEvents"),
                ("{", "it is cut off at byte 1"),
                ('{"traceEvents": [{"ph": "i"', "it is cut off at byte 27"),
                ("[1 2]", "it is not JSON at byte 4"),
                ("[" * 300, "it nests too deep at byte 257"),
                ("[" + "1" * 5000 + "]", "it has a number of kilobytes at byte")):
            self.load_text(text, code=3)
            self.assertIn(why, self.said)
        self.load_text(b"\x1f\x8b\x08\0\0\0\0\0", code=3)
        self.assertIn("it is compressed by gzip and cut off", self.said)

    def test_a_trace_that_is_packed(self):
        for path in sorted(glob.glob(os.path.join(HERE, "traces", "*.json"))):
            with open(path, "rb") as f:
                text = f.read()
            rows = []
            for data in (text, gzip.compress(text), gzip.compress(text[:70000]) +
                         gzip.compress(text[70000:], 1)):
                db = self.load_text(data)
                rows.append(db.execute("SELECT * FROM allocation ORDER BY seq").fetchall())
            self.assertGreater(len(rows[0]), 20)
            self.assertEqual(rows[0], rows[1])
            self.assertEqual(rows[0], rows[2])
        packed = gzip.compress(text)
        self.load_text(packed[:len(packed) // 2], code=3)
        self.assertIn("it is compressed by gzip and cut off", self.said)

    def test_names_that_could_break_something(self):
        names = ["'; DROP TABLE allocation; --", "\u0000\u0001\ud83d", "\U0001f600" * 3000, "%s%n",
                 "<script>", "a.py(99999999999): f", ".py(1): ", ""]
        for cat in ("user_annotation", "cpu_op", "python_function"):
            events = [memory(5, 256, 512)] + [span(n, 1, 10 + i, cat) for i, n in enumerate(names)]
            db = self.load(events)
            self.assertEqual(db.execute("SELECT count(*) FROM allocation").fetchone()[0], 1)
            p = subprocess.run([TIDEMARK, "peak", self.out, "--all"], capture_output=True)
            self.assertEqual(p.returncode, 0, p.stderr)

    def test_deep_ranges_take_bounded_stacks(self):
        events = [span("f%d" % i, i, 10000 - 2 * i, "cpu_op") for i in range(3000)]
        db = self.load(events + [memory(3500, 256, 512)])
        self.assertEqual(self.stacks(db), [["f%d" % i for i in range(2999, 2935, -1)]])


if __name__ == "__main__":
    TIDEMARK = sys.argv.pop(1)
    unittest.main(verbosity=1)
