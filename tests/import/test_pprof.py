"""test_pprof.py TIDEMARK: profiles of live memory: a real one of JAX (profiles/), and made ones, in the
orders and with the values that it has not."""
import glob
import gzip
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TIDEMARK = None
HERE = os.path.dirname(os.path.abspath(__file__))


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes((n & 127 | 128,))
        n >>= 7
    return out + bytes((n,))


def number(field, n):
    return varint(field << 3) + varint(n)


def piece(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


class Profile:
    """Messages by their fields; `dumps` puts them in an order."""

    def __init__(self, types=(("allocations", "count"), ("space", "bytes"))):
        self.texts, self.parts, self.known = {"": 0}, {1: [], 2: [], 4: [], 5: [], 9: []}, {}
        for name, unit in types:
            self.parts[1].append(number(1, self.text(name)) + number(2, self.text(unit)))

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def location(self, frames):
        """Frames that were inlined into each other, innermost first: (function, file, line)."""
        if frames not in self.known:
            lines = b""
            for name, file, line in frames:
                function = len(self.parts[5]) + 1
                self.parts[5].append(number(1, function) + number(2, self.text(name)) +
                                     number(4, self.text(file)))
                lines += piece(4, number(1, function) + number(2, line))
            self.known[frames] = len(self.known) + 7
            self.parts[4].append(number(1, self.known[frames]) + lines)
        return self.known[frames]

    def sample(self, stack, values, packed=True, **labels):
        ids = [self.location(f if isinstance(f[0], tuple) else (f,)) for f in stack]
        body = b""
        for field, numbers in ((1, ids), (2, values)):
            if packed:
                body += piece(field, b"".join(varint(n) for n in numbers))
            else:
                body += b"".join(number(field, n) for n in numbers)
        for key, value in labels.items():
            body += piece(3, number(1, self.text(key)) + number(2, self.text(value)))
        self.parts[2].append(body)

    def dumps(self, order=(1, 2, 4, 5, 6, 9)):
        out = b""
        for field in order:
            if field == 6:
                out += b"".join(piece(6, t.encode()) for t in self.texts)
            elif field == 9:
                out += b"".join(self.parts[9])
            else:
                out += b"".join(piece(field, p) for p in self.parts[field])
        return out


MAIN, STEP = ("main", "/opt/train.py", 30), ("step", "/opt/train.py", 12)


class Pprof(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def load(self, data, code=0):
        path, self.out = (os.path.join(self.folder.name, n) for n in ("x.prof", "out.db"))
        if os.path.exists(self.out):
            os.unlink(self.out)
        with open(path, "wb") as f:
            f.write(data)
        p = subprocess.run([TIDEMARK, "import", path, "-o", self.out], capture_output=True, text=True)
        self.said = p.stderr
        self.assertEqual(p.returncode, code, p.stderr)
        self.assertEqual(os.path.exists(self.out), code == 0)
        return sqlite3.connect(self.out) if code == 0 else None

    def blocks(self, db):
        return db.execute("SELECT d.kind, d.ordinal, a.size FROM allocation a JOIN heap h ON h.id = a.heap "
                          "JOIN device d ON d.id = h.device ORDER BY 1, 2, 3").fetchall()

    def stacks(self, db):
        rows = {}
        for site, name, file, line in db.execute(
                "SELECT t.site, s.text, (SELECT text FROM string WHERE id = f.file), f.line FROM site t "
                "JOIN frame f ON f.id = t.frame JOIN string s ON s.id = f.function ORDER BY t.site, "
                "t.depth"):
            rows.setdefault(site, []).append((name, file, line))
        return list(rows.values())

    def test_real_profiles(self):
        files = sorted(glob.glob(os.path.join(HERE, "profiles", "*.prof")))
        self.assertEqual(len(files), 1)
        for path in files:
            with open(path, "rb") as f:
                data = f.read()
            with open(path[:-5] + ".txt", encoding="utf-8") as f:
                arrays = [line.split() for line in f]
            want = sorted(("cpu", int(d.split(":")[1]), int(n)) for d, n in arrays)
            for form in (data, gzip.decompress(data)):
                db = self.load(form)
                self.assertEqual(self.blocks(db), want)
                self.assertEqual(db.execute("SELECT * FROM anomaly").fetchall(), [])
                self.assertTrue(any(("train", "/tmp/demo/train.py", 30) in s
                                    for s in self.stacks(db)), self.stacks(db))
            p = subprocess.run([TIDEMARK, "peak", self.out], capture_output=True, text=True)
            self.assertIn("__init__ (train.py:13)", p.stdout)

    def test_orders_and_forms(self):
        for order in ((1, 2, 4, 5, 6, 9), (1, 6, 5, 4, 9, 2), (1, 9, 6, 2, 5, 4)):
            for packed in (True, False):
                profile = Profile()
                profile.parts[9] = [number(9, 1700000000 * 10**9)]
                profile.sample([STEP, MAIN], [3, 3072], packed, kind="buffer", device="cuda:1")
                profile.sample([(("inner", "/opt/a.py", 1), ("outer", "/opt/a.py", 2)), MAIN], [1, 100],
                               packed, kind="buffer", device="CudaDevice(id=0)")
                profile.sample([], [1, 7], packed, kind="executable")
                db = self.load(profile.dumps(order))
                self.assertEqual(self.blocks(db), [("cuda", 0, 100)] + [("cuda", 1, 1024)] * 3 +
                                 [("other", -1, 7)])
                self.assertEqual(sorted(self.stacks(db)), sorted([
                    [STEP, MAIN], [("inner", "/opt/a.py", 1), ("outer", "/opt/a.py", 2), MAIN]]))
                started = db.execute("SELECT value FROM meta WHERE key = 'started'").fetchone()[0]
                self.assertEqual(started, "2023-11-14T22:13:20.000000Z")

    def test_blocks_do_not_meet(self):
        profile = Profile()
        for i in range(1, 40):
            profile.sample([MAIN], [i, i * i * 100], device="cuda:0")
        db = self.load(profile.dumps())
        rows = db.execute("SELECT address, size FROM allocation ORDER BY address").fetchall()
        self.assertEqual(len(rows), sum(range(1, 40)))
        for (a, n), (b, _) in zip(rows, rows[1:]):
            self.assertLessEqual(a + n, b)

    def test_counts_that_say_nothing_of_sizes(self):
        profile = Profile()
        profile.sample([MAIN], [3, 100], device="cuda:0")
        profile.sample([MAIN], [0, 100], device="cuda:0")
        profile.sample([MAIN], [1 << 40, 1 << 41], device="cuda:0")
        db = self.load(profile.dumps())
        self.assertEqual(self.blocks(db), [("cuda", 0, 100), ("cuda", 0, 100), ("cuda", 0, 1 << 41)])
        self.assertIn("3 blocks stand for several whose own sizes are not known", self.said)

    def test_other_heap_profiles(self):
        types = (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                 ("inuse_space", "bytes"))
        profile = Profile(types)
        profile.sample([MAIN], [9, 9000, 2, 64])
        profile.sample([STEP], [9, 9000, 0, 0])
        self.assertEqual(self.blocks(self.load(profile.dumps())), [("other", -1, 32)] * 2)
        self.load(Profile((("samples", "count"), ("cpu", "nanoseconds"))).dumps() * 2, code=3)
        self.assertIn("not of live memory", self.said)

    def test_values_that_cannot_be(self):
        profile = Profile()
        profile.sample([MAIN], [1, -5], device="cuda:0")
        profile.sample([MAIN], [1], device="cuda:0")
        profile.sample([MAIN], [1, 1 << 50], device="cuda:0")
        profile.sample([MAIN], [-1, 64], device="cuda:" + "9" * 30)
        db = self.load(profile.dumps())
        self.assertEqual(self.blocks(db), [("cuda", -1, 64)])
        self.assertIn("3 values were not of the kind expected", self.said)

    def test_executables_whose_size_jax_does_not_know(self):
        profile = Profile()
        profile.sample([("f", "f.py", 1)], (1, 4096), kind="buffer", device="TPU_3(process=0,(1,1,0,0))")
        profile.sample([("f", "f.py", 1)], (1, -1), kind="executable")
        profile.sample([("g", "f.py", 1)], (2, -2), kind="executable")
        db = self.load(profile.dumps())
        self.assertEqual(self.blocks(db), [("other", 3, 4096)])
        self.assertIn("3 executables were left out", self.said)
        self.assertNotIn("not of the kind", self.said)

    def test_what_names_nothing(self):
        head = Profile().dumps((1, 6))
        body = piece(2, piece(1, varint(99) + varint(7)) + piece(2, b"\x01\x05") +
                     piece(3, number(1, 99) + number(2, 98)))
        body += piece(4, number(1, 7) + piece(4, number(1, 55))) + piece(4, b"")
        self.assertEqual(self.blocks(self.load(head + body)), [("other", -1, 5)])

    def test_deep_stacks_and_long_names(self):
        profile = Profile()
        profile.sample([("f%d" % i, "/opt/x.py", i) for i in range(300)], [1, 64])
        profile.sample([("g" * 100000, "h" * 100000, 1)], [1, 64])
        profile.sample([("'; DROP TABLE allocation; --", "<script>\n%s", 1), ("\0x", "", 2)], [1, 64])
        db = self.load(profile.dumps())
        self.assertEqual(len(self.blocks(db)), 3)
        self.assertEqual(max(len(s) for s in self.stacks(db)), 64)

    def test_damage(self):
        profile = Profile()
        profile.sample([STEP, MAIN], [3, 3072], kind="buffer", device="cuda:1")
        data = profile.dumps()
        for cut in range(4, len(data)):
            path = os.path.join(self.folder.name, "cut.prof")
            with open(path, "wb") as f:
                f.write(data[:cut])
            out = os.path.join(self.folder.name, "cut.db")
            p = subprocess.run([TIDEMARK, "import", path, "-o", out], capture_output=True, text=True)
            self.assertIn(p.returncode, (0, 3), p.stderr)
            if p.returncode == 0:
                os.unlink(out)
        self.load(data + b"\x0b", code=3)
        self.assertIn("it is a damaged or cut off profile", self.said)
        self.load(gzip.compress(data)[:-9], code=3)
        self.assertIn("it is compressed by gzip and cut off", self.said)

    def test_reports(self):
        profile = Profile()
        profile.sample([STEP, MAIN], [3, 3072], kind="buffer", device="cuda:0")
        self.load(profile.dumps()).close()
        for words, says in ((("peak",), "step (train.py:12)"), (("ladder",), "not known from this source"),
                            (("frag",), "segments are not known from this source"),
                            (("fit",), "no addresses are compared: jax gave them"),
                            (("timeline",), "peak 3.0 KiB"), (("phases",), "other"),
                            (("modules",), "no module is known")):
            p = subprocess.run([TIDEMARK, words[0], self.out], capture_output=True, text=True)
            self.assertIn(p.returncode, (0, 3), p.stderr)
            self.assertIn(says, p.stdout + p.stderr)

    def test_what_tidemark_exports_comes_back(self):
        profile = Profile()
        profile.sample([STEP, MAIN], [3, 3072], kind="buffer", device="cuda:0")
        profile.sample([MAIN], [2, 512], kind="buffer", device="cuda:0")
        first = self.stacks(self.load(profile.dumps()))
        path = os.path.join(self.folder.name, "own.pb.gz")
        p = subprocess.run([TIDEMARK, "export", self.out, "--to", "pprof", "-o", path],
                           capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(path, "rb") as f:
            db = self.load(f.read())
        self.assertEqual([n for _, _, n in self.blocks(db)], [256] * 2 + [1024] * 3)
        self.assertEqual(sorted(self.stacks(db)), sorted(first))


if __name__ == "__main__":
    TIDEMARK = sys.argv.pop(1)
    unittest.main(verbosity=1)
