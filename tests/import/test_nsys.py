"""test_nsys.py TIDEMARK: exports of Nsight Systems (nsys_model.py): what is imported is what happened, in
whatever order a table has its columns; what a file cannot make it do."""
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import nsys_model
from nsys_model import MIB, TABLES, Export, Model, gid

TIDEMARK = None
MEMORY = "CUDA_GPU_MEMORY_USAGE_EVENTS"


class Nsys(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.out = (os.path.join(self.folder.name, n) for n in ("a.sqlite", "out.db"))

    def tearDown(self):
        self.folder.cleanup()

    def load(self, code=0):
        if os.path.exists(self.out):
            os.unlink(self.out)
        p = subprocess.run([TIDEMARK, "import", self.path, "-o", self.out], capture_output=True,
                           text=True)
        self.said = p.stderr
        self.assertEqual(p.returncode, code, p.stderr)
        self.assertEqual(os.path.exists(self.out), code == 0)
        self.assertFalse([n for n in os.listdir(self.folder.name) if n.startswith("a.sqlite-")
                          and n not in self.beside])
        return sqlite3.connect(self.out) if code == 0 else None

    beside = ()

    def report(self, *words):
        p = subprocess.run([TIDEMARK, words[0], self.out, *words[1:]], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stdout

    def memory(self, db):
        return db.execute("SELECT p.pid, d.kind, d.address, d.size FROM driver_memory d JOIN process p "
                          "ON p.id = d.process ORDER BY d.seq").fetchall()

    def check(self, model, db):
        self.assertEqual(sorted(self.memory(db)), sorted(model.rows))
        living = db.execute("SELECT p.pid, d.address, d.size FROM driver_memory d JOIN process p ON "
                            "p.id = d.process WHERE life_ns IS NULL").fetchall()
        self.assertEqual(sorted(living), sorted((p, a, s) for (p, a), (s, _) in model.live.items()))
        self.assertEqual(db.execute("SELECT * FROM anomaly").fetchall(), [])

    def test_what_is_imported_is_what_happened(self):
        for seed, page in ((1, 512), (2, 4096), (3, 65536)):
            export = Export(self.path, page)
            model = Model(export, seed)
            export.close()
            db = self.load()
            self.check(model, db)
            calls = db.execute("SELECT DISTINCT s.text FROM driver_memory d JOIN string s ON s.id = "
                               "d.call").fetchall()
            self.assertEqual(calls, [("cudaMalloc",)])
            self.assertEqual(db.execute("SELECT DISTINCT argv FROM process").fetchall(),
                             [("python3 train.py",)])
            for pid in model.most:
                process, = db.execute("SELECT id FROM process WHERE pid = ?", (pid,)).fetchone()
                said = self.report("peak", "--process", str(process), "--format", "csv")
                self.assertIn(str(model.most[pid]), said)

    def test_columns_in_any_order_and_fewer_of_them(self):
        order = TABLES[MEMORY].replace("\n", " ").replace("-- Event start timestamp (ns).", "")
        columns = [c.strip() for c in order.split(",")]
        for keep in (columns[::-1], columns[:9], ["later TEXT"] + columns[:9]):
            export = Export(self.path, tables={**TABLES, MEMORY: ", ".join(keep)})
            model = Model(export, 4, 200)
            export.close()
            self.check(model, self.load())

    def test_columns_that_came_later(self):
        export = Export(self.path)
        model = Model(export, 5, 100)
        export.db.execute(f"ALTER TABLE {MEMORY} ADD COLUMN more INTEGER DEFAULT 7")
        export.close()
        self.check(model, self.load())

    def test_tables_that_are_missing(self):
        few = {n: TABLES[n] for n in (MEMORY, "META_DATA_EXPORT")}
        export = Export(self.path, tables=few)
        model = Model(export, 6, 200)
        export.close()
        self.check(model, self.load())

    def test_numbers_of_kinds_are_the_file_s(self):
        kinds = {10 + k: v for k, v in nsys_model.KINDS.items()}
        export = Export(self.path, kinds=kinds, operations={5: "Deallocation", 9: "Allocation"})
        model = Model(export, 7, 200)
        export.close()
        self.check(model, self.load())

    def test_everything_small(self):
        nsys_model.small(self.path)
        db = self.load()
        self.assertEqual(db.execute("SELECT value FROM meta WHERE key = 'started'").fetchone()[0],
                         "2023-11-14T22:13:20.000000Z")
        self.assertEqual(db.execute("SELECT what, value FROM sample ORDER BY at_ns").fetchall(),
                         [("pool reserved", 128 * MIB), ("pool reserved", 0)])
        self.assertEqual(db.execute("SELECT total_bytes FROM device").fetchall(), [(80 << 30,)])
        sites = [[f for f, in db.execute(
            "SELECT s.text FROM site t JOIN frame f ON f.id = t.frame JOIN string s ON s.id = f.function "
            "WHERE t.site = ? ORDER BY t.depth", (site,))] for site, in db.execute(
                "SELECT site FROM driver_memory WHERE kind = 'device' ORDER BY seq").fetchall()]
        self.assertEqual(sites, [["load_weights", "main"], ["main"], ["main"]])
        self.assertEqual(db.execute("SELECT DISTINCT step FROM driver_allocations ORDER BY 1").fetchall(),
                         [(None,), (1,), (2,)])
        self.assertEqual(db.execute("SELECT name, scope FROM phase WHERE domain IS NOT NULL").fetchall(),
                         [("ncclAllReduce", "thread")])
        self.assertEqual(db.execute("SELECT name FROM phase WHERE scope = 'range'").fetchall(),
                         [("epoch",)])
        self.assertEqual(db.execute("SELECT name FROM mark").fetchall(), [("here",)])
        self.assertIn("5 allocations by CUDA's driver", self.said)
        self.assertIn("peak of driver memory 1536 MiB", self.said)

    def test_reports(self):
        nsys_model.small(self.path)
        self.load().close()
        for words, says in ((("peak",), "load_weights"), (("ladder",), "not known from this source"),
                            (("timeline",), "The driver's memory over time"), (("phases",), "load"),
                            (("frag",), "no framework's block was seen there"),
                            (("fit",), "no framework's block was seen there"), (("info",), "./train")):
            p = subprocess.run([TIDEMARK, words[0], self.out], capture_output=True, text=True)
            self.assertIn(p.returncode, (0, 3), p.stderr)
            self.assertIn(says, p.stdout + p.stderr)

    def test_memory_in_its_log(self):
        self.beside = ("a.sqlite-wal", "a.sqlite-shm")
        export = Export(self.path, wal=True)
        model = Model(export, 8, 100)
        export.db.commit()
        self.check(model, self.load())
        export.close()

    def test_long_texts(self):
        export = Export(self.path, page=512)
        export.memory(10, 100, 0, 4096, 512, call="cudaMalloc" + "x" * 3000)
        export.range(1, 20, 100, "y" * 100000)
        export.range(2, 19, 100, "z\0hidden")
        export.close()
        db = self.load()
        names = [r[0] for r in db.execute("SELECT name FROM phase WHERE name <> 'other' ORDER BY 1")]
        self.assertEqual(names[-1], "z")
        self.assertTrue(names[0].startswith("yyyy") and len(names[0]) <= 4096)

    def test_gpus_of_other_sizes_are_not_known(self):
        export = Export(self.path)
        for i in range(2):
            export.put("TARGET_INFO_GPU", vmId=1, id=i, name="GPU", totalMemory=(40 + 40 * i) << 30)
        export.memory(10, 100, 1, 4096, 512)
        export.close()
        self.assertEqual(self.load().execute("SELECT total_bytes FROM device").fetchall(), [(None,)])

    def test_values_of_other_types(self):
        export = Export(self.path)
        good = dict(start=10, globalPid=gid(100), deviceId=0, contextId=1, address=4096, pc=0, bytes=512,
                    memKind=2, memoryOperationType=0)
        export.put(MEMORY, **good)
        for name in ("start", "globalPid", "deviceId", "address", "bytes"):
            for value in ("x", b"x", 1.5, -1 if name in ("deviceId", "bytes") else "x",
                          1 << 62 if name in ("start", "bytes", "deviceId") else "x"):
                export.put(MEMORY, **{**good, name: value})
        export.put(MEMORY, **{**good, "memKind": 7})
        export.put(MEMORY, **{**good, "memKind": 1 << 40})
        export.put(MEMORY, **{**good, "memoryOperationType": "x"})
        for value in ("x", None, 1.5, -5):
            export.put("NVTX_EVENTS", start=1, end=value, eventType=59, text="a", globalTid=gid(100))
            export.put("NVTX_EVENTS", start=value or 0, end=5, eventType=59, text=7, textId=value,
                       globalTid=value)
        export.close()
        db = self.load()
        self.assertEqual(self.memory(db), [(100, "device", 4096, 512)])
        self.assertIn("25 values were not of the kind expected", self.said)
        self.assertIn("3 events of a kind not known left out", self.said)

    def test_what_is_no_export(self):
        for sql, why in (("CREATE TABLE x(y)", "no export of Nsight Systems"),
                         ("CREATE TABLE META_DATA_EXPORT(name, value)", "--cuda-memory-usage=true"),
                         (f"CREATE VIEW {MEMORY} AS SELECT 1 AS start", "no export"),
                         (f"CREATE VIRTUAL TABLE {MEMORY} USING fts5(start)", "not read"),
                         (f"CREATE TABLE {MEMORY}(start PRIMARY KEY) WITHOUT ROWID", "is damaged"),
                         (f"CREATE TABLE {MEMORY}(start, globalPid AS (start + 1))", "not read"),
                         (f"PRAGMA encoding = 'UTF-16'; CREATE TABLE {MEMORY}(start)", "not UTF-8"),
                         ("PRAGMA application_id = 0x54494445; CREATE TABLE x(y)",
                          "a recording of Tidemark")):
            if os.path.exists(self.path):
                os.unlink(self.path)
            db = sqlite3.connect(self.path)
            db.executescript(sql)
            db.close()
            self.load(code=3)
            self.assertIn(why, self.said)

    def test_too_many_processes(self):
        export = Export(self.path)
        for i in range(65):
            export.memory(10, 100 + i, 0, 4096, 512)
        export.close()
        self.load(code=3)
        self.assertIn("more than 64 processes", self.said)

    def test_nothing_of_the_file_is_run(self):
        """A trigger and a view whose names are asked for, and an index that lies."""
        export = Export(self.path)
        model = Model(export, 9, 100)
        export.db.execute(f"CREATE INDEX i ON {MEMORY}(start)")
        export.db.execute(f"CREATE TRIGGER t AFTER INSERT ON {MEMORY} BEGIN SELECT load_extension('x'); END")
        export.db.execute("CREATE VIEW NVTX AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
                          "FROM r) SELECT n FROM r")
        export.close()
        self.check(model, self.load())

    def test_damage(self):
        """No page that is cut off, zero or noise does more than end the import."""
        nsys_model.small(self.path)
        with open(self.path, "rb") as f:
            whole = f.read()
        pages = len(whole) // 512
        refused = 0
        for page in range(pages):
            for fill in (b"\0" * 512, b"\xff" * 512, whole[:512], whole[512 * 5:512 * 6]):
                with open(self.path, "wb") as f:
                    f.write(whole[:page * 512] + fill + whole[(page + 1) * 512:])
                p = subprocess.run([TIDEMARK, "import", self.path, "-o", self.out],
                                   capture_output=True, text=True)
                self.assertIn(p.returncode, (0, 3), p.stderr)
                refused += p.returncode == 3
                if p.returncode == 0:
                    os.unlink(self.out)
        self.assertGreater(refused, pages)
        for cut in range(16, len(whole), 997):
            with open(self.path, "wb") as f:
                f.write(whole[:cut])
            self.load(code=3)

    def test_a_tree_that_goes_in_circles(self):
        export = Export(self.path, page=512)
        Model(export, 10, 300)
        export.close()
        db = sqlite3.connect(self.path)
        root, = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (MEMORY,)).fetchone()
        db.close()
        with open(self.path, "r+b") as f:
            f.seek((root - 1) * 512 + 8)
            f.write(root.to_bytes(4, "big"))
        self.load(code=3)
        self.assertIn(f"page {root} of its table {MEMORY} is damaged or missing", self.said)

    def test_packed(self):
        nsys_model.small(self.path)
        import gzip
        with open(self.path, "rb") as f:
            text = f.read()
        with open(self.path, "wb") as f:
            f.write(gzip.compress(text))
        self.load(code=3)
        self.assertIn("read from a file that is not packed", self.said)


if __name__ == "__main__":
    TIDEMARK = sys.argv.pop(1)
    unittest.main(verbosity=1)
