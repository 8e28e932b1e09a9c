"""test_rmm.py TIDEMARK: logs of RMM: a real one (logs/), and those of a model that knows what happened."""
import glob
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TIDEMARK = None
HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = "Thread,Time,Action,Pointer,Size,Stream\n"


def stamp(us):
    us %= 86_400_000_000
    return "%02d:%02d:%02d.%06d" % (us // 3600_000_000, us // 60_000_000 % 60,
                                    us // 1_000_000 % 60, us % 1_000_000)


class Model:
    """Blocks of some threads and streams; `before` lived when the log began."""

    def __init__(self, seed, lines, start_us):
        self.random = random.Random(seed)
        self.now, self.rows, self.text, self.live = start_us, [], [], {}
        self.before, self.refused, self.births = [], 0, []
        for i in range(20):
            self.live[0x7f0000000000 + (i << 20)] = (self.random.randint(1, 1 << 20), 0, None)
        while len(self.text) < lines:
            self.step()

    def put(self, action, addr, size, stream):
        self.text.append("%d,%s,%s,%s,%d,%x\n" % (
            self.random.choice((4242, 4243, 4_000_000)), stamp(self.now), action,
            "0x%x" % addr if addr else "(nil)", size, stream))

    def step(self):
        self.now += self.random.choice((0, 1, 7, 1000, 2_000_000_000))
        what = self.random.random()
        if what < 0.02:
            self.refused += 1
            return self.put("allocate failure", 0, 1 << 40, 0)
        if what < 0.45 and self.live:
            addr = self.random.choice(sorted(self.live))
            size, stream, born = self.live.pop(addr)
            if born is None:
                self.before.append((addr, size))
            return self.put("free", addr, size, self.random.choice((stream, 0)))
        addr, size = self.random.getrandbits(30) << 8, self.random.randint(1, 1 << 24)
        if addr and addr not in self.live:
            stream = self.random.choice((0, 2, 0x7f8a38001020))
            self.live[addr] = (size, stream, len(self.births))
            self.births.append((addr, size, stream))
            self.put("allocate", addr, size, stream)

    def peak(self):
        now = best = sum(size for _, size in self.before)
        for line in self.text:
            f = line.split(",")
            now += {"allocate": 1, "free": -1}.get(f[2], 0) * int(f[4])
            best = max(best, now)
        return best


class Rmm(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def load(self, text, name="rmm.log", code=0):
        path, out = (os.path.join(self.folder.name, n) for n in (name, "out.db"))
        if os.path.exists(out):
            os.unlink(out)
        with open(path, "w", newline="") as f:
            f.write(text)
        p = subprocess.run([TIDEMARK, "import", path, "-o", out], capture_output=True, text=True)
        self.assertEqual(p.returncode, code, p.stderr)
        self.said = p.stderr
        self.out = out
        self.assertEqual(os.path.exists(out), code == 0)
        return sqlite3.connect(out) if code == 0 else None

    def check(self, model, db):
        rows = db.execute("SELECT a.address, a.size, h.stream, a.requested FROM allocation a JOIN heap h"
                          " ON h.id = a.heap ORDER BY a.seq").fetchall()
        n = len(model.before)
        self.assertEqual(sorted(r[:2] for r in rows[:n]), sorted(model.before))
        self.assertEqual([r[:3] for r in rows[n:]], model.births)
        self.assertTrue(all(r[1] == r[3] for r in rows))
        living = db.execute("SELECT address FROM allocation WHERE life_ns = -70368744177664")
        self.assertEqual(sorted(r[0] for r in living),
                         sorted(a for a, (_, _, born) in model.live.items() if born is not None))
        self.assertEqual(db.execute("SELECT count(*) FROM oom").fetchone()[0], model.refused)
        self.assertEqual(db.execute("SELECT allocated FROM peak").fetchall(), [(model.peak(),)])
        for table in ("anomaly", "lost"):
            self.assertEqual(db.execute(f"SELECT * FROM {table}").fetchall(), [])

    def test_what_is_imported_is_what_happened(self):
        for seed in range(6):
            model = Model(seed, 3000, seed * 14_000_000_000)
            db = self.load(HEADER + "".join(model.text))
            self.check(model, db)
            run_ns = int(db.execute("SELECT value FROM meta WHERE key = 'run_ns'").fetchone()[0])
            times = [line.split(",")[1] for line in model.text]
            self.assertEqual(run_ns, (model.now - us_of(times[0], seed)) * 1000)

    def test_real_logs(self):
        files = sorted(glob.glob(os.path.join(HERE, "logs", "*.log")))
        self.assertEqual(len(files), 1)
        for path in files:
            with open(path, encoding="utf-8") as file:
                db = self.load(file.read(), os.path.basename(path))
            with open(path.split(".dev")[0] + ".txt", encoding="utf-8") as file:
                (_, peak), *blocks = [line.split() for line in file]
            rows = db.execute("SELECT address, size, free_seq < 0 FROM allocation ORDER BY seq")
            self.assertEqual(rows.fetchall(), [tuple(map(int, block)) for block in blocks])
            self.assertEqual(db.execute("SELECT allocated FROM peak").fetchall(), [(int(peak),)])
            self.assertEqual(db.execute("SELECT count(*) FROM oom").fetchone(), (1,))

    def test_lines_of_dos_and_the_older_clock(self):
        model = Model(9, 500, 0)
        text = "".join(line.replace(".", ":").replace("\n", "\r\n") for line in model.text)
        self.check(model, self.load(HEADER.replace("\n", "\r\n") + text))

    def test_a_line_that_is_cut_off_is_left_out(self):
        model = Model(3, 400, 0)
        self.check(model, self.load(HEADER + "".join(model.text) + "4242,10:00:00.000000,allo"))
        self.assertIn("1 line at the end, cut off, was left out", self.said)

    def test_times_that_run_back_a_little_keep_the_order_of_lines(self):
        db = self.load(HEADER + "1,10:00:00.000005,allocate,0x100,1,0\n"
                                "2,10:00:00.000001,free,0x100,1,0\n"
                                "2,10:00:00.000002,allocate,0x100,2,0\n")
        rows = db.execute("SELECT size, life_ns FROM allocation ORDER BY seq").fetchall()
        self.assertEqual(rows, [(1, 0), (2, -70368744177664)])

    def test_the_device_is_in_the_name(self):
        line = "1,10:00:00.000005,allocate,0x100,1,0\n"
        for name, device in (("a.log", 0), ("rmm.dev3.log", 3), ("rmm.dev12", 12),
                             ("rmm.device.csv", 0), ("rmm.dev9999.log", 0)):
            db = self.load(HEADER + line, name)
            self.assertEqual(db.execute("SELECT kind, ordinal FROM device").fetchall(),
                             [("cuda", device)])

    def test_the_name_says_nothing_of_the_format(self):
        self.load(HEADER + "1,10:00:00.000005,allocate,0x100,1,0\n", "x.pickle")
        self.assertIn("an RMM log has no call sites, steps, phases or", self.said)

    def test_no_blocks(self):
        self.load(HEADER)
        self.assertIn("no allocations are in it", self.said)
        self.load(HEADER.strip())

    def test_lines_that_are_none(self):
        good = "1,10:00:00.000005,allocate,0x100,1,0\n"
        for line, why in (
                ("1,2,3\n", "line 3: it has not six fields"),
                (good.strip() + ",7\n", "line 3: it has not six fields"),
                ("x,10:00:00.000005,allocate,0x100,1,0\n", "line 3: its thread is no number"),
                ("1,24:00:00.000005,allocate,0x100,1,0\n", "line 3: its time is not HH:MM:SS.ffffff"),
                ("1,1634567890.123456,allocate,0x1,1,0\n", "line 3: its time is not HH:MM:SS.ffffff"),
                ("1,10:00:00.000005,allocate,100x,1,0\n", "line 3: its pointer is none"),
                ("1,10:00:00.000005,allocate,0x100,-1,0\n", "line 3: its size is no number"),
                ("1,10:00:00.000005,allocate,0x100,99999999999999999999,0\n",
                 "line 3: its size is no number"),
                ("1,10:00:00.000005,allocate,0x100,1,s0\n", "line 3: its stream is no hexadecimal"),
                ("\0" * 10 + "\n", "line 3: it is no text"),
                ("1," * 600 + "\n", "line 3: it is longer than a line")):
            self.load(HEADER + good + line + good, code=3)
            self.assertIn(why, self.said)

    def test_actions_that_are_not_known(self):
        db = self.load(HEADER + "1,10:00:00.000005,reserve,0x100,1,0\n")
        self.assertIn("1 event of a kind not known", self.said)
        self.assertEqual(db.execute("SELECT count(*) FROM allocation").fetchone()[0], 0)

    def test_too_many_streams(self):
        lines = "".join("1,10:00:00.000005,allocate,0x%x,1,%x\n" % (256 + i, i)
                        for i in range(4097))
        self.load(HEADER + lines, code=3)
        self.assertIn("too many streams", self.said)

    def test_reports(self):
        model = Model(1, 2000, 0)
        self.load(HEADER + "".join(model.text)).close()
        for words, says in ((("peak",), "unknown: no call stack"),
                            (("frag",), "segments are not known from this source"),
                            (("ladder",), "not known from this source: active, reserved"),
                            (("fit",), "no addresses are compared: rmm gave them"),
                            (("timeline",), "Memory over time"), (("phases",), "other"),
                            (("modules",), "no module is known")):
            p = subprocess.run([TIDEMARK, words[0], self.out], capture_output=True, text=True)
            self.assertIn(p.returncode, (0, 3), p.stderr)
            self.assertIn(says, p.stdout + p.stderr)

    def test_what_does_not_fit_is_said(self):
        self.load(HEADER + "1,10:00:00.000005,allocate,0x100,1024,2\n"
                  "1,10:00:00.000006,allocate,0x100,256,2\n"
                  "1,10:00:00.000007,free,0x100,4,2\n").close()
        self.assertIn("2 events do not fit to what came before", self.said)

    def test_a_refused_request_that_no_device_could_hold(self):
        self.load(HEADER + "1,10:00:00.000005,allocate,0x100,256,2\n"
                  "1,10:00:00.000006,allocate failure,(nil),9223372036854775812,0\n").close()
        p = subprocess.run([TIDEMARK, "fit", self.out, "--memory", "1GiB"], capture_output=True, text=True)
        self.assertNotIn("no such file", p.stderr)
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertIn("1 request was refused", p.stdout + p.stderr)
        self.assertIn("does not fit", p.stdout)


def us_of(text, seed):
    """The first line's time; the model began so many whole days before."""
    h, m, s = text.split(":")
    us = (int(h) * 3600 + int(m) * 60) * 1_000_000 + int(s.replace(".", ""))
    day = 86_400_000_000
    start = seed * 14_000_000_000
    return us + (start // day + (us < start % day)) * day


if __name__ == "__main__":
    TIDEMARK = sys.argv.pop(1)
    unittest.main(verbosity=1)
