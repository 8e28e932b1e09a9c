"""Recordings as Parquet: each promised view row by row, and sql/fleet on each engine."""

import glob
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import unittest

import support
from support import WORK, command, recording

import fleet_engines

MISSING = [
    name
    for name in ("pyarrow", "adbc_driver_sqlite", "numpy")
    if not importlib.util.find_spec(name)
]
DATA = os.path.join(support.SOURCE, "tests", "data")
SMALL = ("train", "torch", "gpu", "leaks", "ranks", "pools", "twogpus", "thinned")


def key(row):
    return [(one is not None, type(one).__name__, one) for one in row]


class Package(unittest.TestCase):
    def test_what_to_install_is_said(self):
        """By an interpreter without site-packages."""
        bare = os.path.join(WORK, "bare")
        with open(bare, "w") as file:
            file.write('#!/bin/sh\nexec "%s" -S -I "$@"\n' % sys.executable)
        os.chmod(bare, 0o755)
        done = subprocess.run(
            [
                support.COMMAND,
                "export",
                "--to",
                "parquet",
                "-o",
                os.path.join(WORK, "none"),
                recording("train"),
            ],
            env=dict(os.environ, TIDEMARK_PYTHON3=bare),
            stderr=subprocess.PIPE,
            text=True,
        )
        self.assertEqual(done.returncode, 3)
        self.assertIn("pip install 'tidemark[parquet]'", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_nothing_of_the_current_folder_is_run(self):
        folder = os.path.join(WORK, "somebodys")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in ("argparse", "runpy", "tidemark", "numpy"):
            with open(os.path.join(folder, name + ".py"), "w") as file:
                file.write("open('run', 'w').close()\n")
        words = ["export", "--to", "parquet", "-o", os.path.join(WORK, "elsewhere")]
        subprocess.run(
            [support.COMMAND, *words, recording("train")], cwd=folder, stderr=subprocess.PIPE
        )
        self.assertFalse(os.path.exists(os.path.join(folder, "run")))

    def test_no_python(self):
        done = subprocess.run(
            [support.COMMAND, "export", "--to", "parquet", recording("train")],
            env=dict(os.environ, TIDEMARK_PYTHON3="/nonexistent/python"),
            stderr=subprocess.PIPE,
            text=True,
        )
        self.assertEqual(done.returncode, 3)
        self.assertIn("pip install 'tidemark[parquet]'", done.stderr)


@unittest.skipIf(MISSING, "%s: not installed" % ", ".join(MISSING))
class Parquet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.join(WORK, "all")
        shutil.rmtree(cls.folder, ignore_errors=True)

    def read(self, name, run, folder=None):
        """Rows without run and rank, and the ranks of their folders."""
        import pyarrow.parquet as pq

        found = []
        for path in glob.glob("%s/%s/run=%s/rank=*/*.parquet" % (folder or self.folder, name, run)):
            rank = int(path.split("/rank=")[1].split("/")[0])
            table = pq.ParquetFile(path).read()
            found += [(rank, tuple(row.values())) for row in table.to_pylist()]
        return found

    def test_views_are_the_recording_s(self):
        """Every recording of tests/data, every promised view, every row and its type."""
        from tidemark import _parquet_views as views
        from tidemark import parquet

        seen = 0
        for sql in sorted(glob.glob(os.path.join(DATA, "*.sql"))):
            run = os.path.basename(sql)[:-4]
            path = recording(run)
            with sqlite3.connect(path) as source:
                source.text_factory = lambda text: text.decode("utf-8", "replace")
                if source.execute("PRAGMA user_version").fetchone()[0] not in parquet.VERSIONS:
                    continue
                ranks = dict(source.execute("SELECT id, coalesce(rank, -1) FROM process"))
                parquet.export(path, self.folder)
                for name in views.VIEWS:
                    with self.subTest(recording=run, view=name):
                        expected = [
                            (ranks.get(row[0], -1), row)
                            for row in source.execute(views.view_query(name))
                        ]
                        got = self.read(name, run + "-r*")
                        self.assertEqual(sorted(map(repr, got)), sorted(map(repr, expected)))
                        seen += len(got)
        self.assertGreater(seen, 1000)

    def test_by_the_command(self):
        """Written again it is replaced, not doubled; another run stands beside it."""
        folder = os.path.join(WORK, "command")
        shutil.rmtree(folder, ignore_errors=True)
        os.environ["TIDEMARK_PYTHON3"] = sys.executable
        path = recording("train")
        for run in ("one", "one", "two"):
            command(
                "export", "--to", "parquet", "-o", folder, "--run", run, "--commit", "it's", path
            )
        self.assertEqual(len(glob.glob(folder + "/allocations/*/*/*.parquet")), 2)
        self.assertEqual(len(glob.glob(folder + "/*/*/*/.*")), 0)
        self.assertEqual({row[4] for _, row in self.read("process", "two", folder)}, {"it's"})

    def test_two_files_of_one_name(self):
        """They are two runs; the same recording elsewhere is the same run."""
        from tidemark import parquet

        folder = os.path.join(WORK, "two")
        shutil.rmtree(folder, ignore_errors=True)
        paths = []
        for name, source, changes in (
            ("a", "train", "INSERT INTO meta VALUES ('started', '2026-11-28T07:00:00Z')"),
            ("b", "train", "INSERT INTO meta VALUES ('started', '2026-11-28T08:00:00Z')"),
            ("c", "torch", ""),  # as imported ones, without a date
            ("d", "gpu", ""),
        ):
            paths.append(os.path.join(WORK, name, "run.db"))
            os.makedirs(os.path.dirname(paths[-1]), exist_ok=True)
            os.replace(recording(source), paths[-1])
            with sqlite3.connect(paths[-1]) as db:
                db.executescript(changes)
        for path in paths:
            parquet.export(path, folder)
        runs = sorted(os.listdir(os.path.join(folder, "peak")))
        self.assertEqual(len(runs), 4)
        elsewhere = os.path.join(WORK, "e", "run.db")
        os.makedirs(os.path.dirname(elsewhere), exist_ok=True)
        for path in paths:
            shutil.copyfile(path, elsewhere)
            parquet.export(elsewhere, folder)
        self.assertEqual(sorted(os.listdir(os.path.join(folder, "peak"))), runs)
        self.assertEqual(len(glob.glob(folder + "/peak/*/*/*")), 4)

    def test_no_engine_takes_a_run_for_a_number(self):
        """Each alone in a folder, as an engine infers the type of all, and asked without a type."""
        from tidemark import parquet

        asked = {}
        for name in ("20261128", "1e3", "2026-11-28", "2026", "nan", "true", "0x1f", "10d", "07"):
            path = os.path.join(WORK, name + ".db")
            os.replace(recording("train"), path)
            folder = os.path.join(WORK, "typed", name)
            shutil.rmtree(folder, ignore_errors=True)
            parquet.export(path, folder)
            (asked[folder],) = (one[4:] for one in os.listdir(folder + "/peak"))
            self.assertTrue(asked[folder].startswith(name + "-r"))
            self.assertRaisesRegex(
                parquet.Failure, "put a word before it", parquet.export, path, folder, name
            )
        tried = 0
        if not fleet_engines.missing("DuckDB"):
            import duckdb

            for folder, run in asked.items():
                question = "SELECT DISTINCT run, typeof(run), typeof(rank) FROM read_parquet("
                question += "'%s/peak/*/*/*.parquet', hive_partitioning = true)" % folder
                got = duckdb.connect().execute(question).fetchall()
                self.assertEqual(got, [(run, "VARCHAR", "BIGINT")])
            tried += 1
        if not fleet_engines.missing("Spark"):
            from pyspark.sql import SparkSession

            builder = SparkSession.builder.master("local[1]")
            spark = builder.config("spark.ui.enabled", "false").getOrCreate()
            for folder, run in asked.items():
                frame = spark.read.parquet(folder + "/peak")
                self.assertEqual(dict(frame.dtypes)["run"], "string")
                self.assertEqual({row[0] for row in frame.select("run").collect()}, {run})
            spark.stop()
            tried += 1
        if not tried:
            self.skipTest("neither DuckDB nor Spark is installed")

    def test_mistakes(self):
        from tidemark import parquet

        for what in ("/nonexistent.db", os.path.join(support.SOURCE, "README.md")):
            self.assertRaises(parquet.Failure, parquet.export, what, WORK)
        path = recording("train")
        self.assertRaises(parquet.Failure, parquet.export, path, WORK, "a/b")
        self.assertRaises(parquet.Failure, parquet.export, path, WORK, None, None, ["nothing"])
        with sqlite3.connect(path) as source:
            source.execute("PRAGMA user_version = 3")
        self.assertRaisesRegex(parquet.Failure, "repair", parquet.export, path, WORK)

    def test_a_name_that_urls_would_read(self):
        from tidemark import parquet

        path = os.path.join(WORK, "a b%20#?c.db")
        os.replace(recording("train"), path)
        parquet.export(path, os.path.join(WORK, "named"), run="r")
        self.assertTrue(self.read("peak", "r", os.path.join(WORK, "named")))


def with_modules(run, factor):
    """A release of a program whose blocks are in a module, and so many times as large."""
    path = os.path.join(WORK, "small", run + ".db")
    os.replace(recording("torch", os.path.join(WORK, "small", run)), path)
    with sqlite3.connect(path) as source:
        source.execute("INSERT INTO module(id, path, class) VALUES (1, 'layers.0', 'Linear')")
        source.execute("UPDATE allocation SET module = 1, size = size * %d" % factor)
        for column in ("peak_allocated", "max_allocated"):
            source.execute("UPDATE phase_device SET %s = %s * %d" % (column, column, factor))
        if factor > 1:  # and a new module
            source.execute("INSERT INTO module(id, path, class) VALUES (2, 'layers.1', 'Linear')")
            source.execute(
                "UPDATE allocation SET module = 2 WHERE seq = (SELECT allocation FROM live_at_peak"
                " ORDER BY size LIMIT 1)"
            )
    return path


def on_a_cpu():
    path = os.path.join(WORK, "small", "cpu.db")
    os.replace(recording("train", os.path.join(WORK, "small", "cpu")), path)
    with sqlite3.connect(path) as source:
        source.execute("DELETE FROM heap WHERE device <> 1")
        source.execute("UPDATE device SET kind = 'cpu', ordinal = -1, name = NULL WHERE id = 1")
    return path


@unittest.skipIf(MISSING, "%s: not installed" % ", ".join(MISSING))
class Fleet(unittest.TestCase):
    """The questions, on a small set: as SQLite answers them from the recordings themselves."""

    @classmethod
    def setUpClass(cls):
        from tidemark import _parquet_views as views
        from tidemark import parquet

        cls.folder = os.path.join(WORK, "fleet")
        shutil.rmtree(cls.folder, ignore_errors=True)
        paths = {run: recording(run, os.path.join(WORK, "small")) for run in SMALL}
        for run, factor in (("release1", 1), ("release2", 3)):
            paths[run] = with_modules(run, factor)
        paths["cpu"] = on_a_cpu()
        commits = {run: "c%d" % at for at, run in enumerate(paths)}
        for run, path in paths.items():
            parquet.export(path, cls.folder, run, commits[run])
        cls.names = [*views.FACTS, *views.VIEWS]
        cls.sqlite = fleet_engines.SQLite(paths, commits)

    def test_questions_have_answers(self):
        empty = [name for name, text in fleet_engines.questions() if not self.sqlite.ask(text)]
        self.assertEqual(empty, [])
        self.assertGreaterEqual(len(list(fleet_engines.questions())), 12)

    def answer(self, number):
        (text,) = [text for name, text in fleet_engines.questions() if name.startswith(number)]
        return self.sqlite.ask(text)

    def test_a_run_on_a_cpu_is_in_the_answers(self):
        for number, column in (("01", 0), ("02", 0), ("03", 1), ("06", 0), ("08", 2), ("09", 0)):
            runs = [row[column] for row in self.answer(number)]
            self.assertIn("cpu", runs, number)
        for number in ("13", "14"):
            self.assertIn("cpu", [row[0] for row in self.answer(number)], number)
        for name, text in fleet_engines.questions():
            self.assertRegex(text.split("WITH")[0], "CPU", name + " says what counts")

    def test_the_cpu_of_a_run_with_a_gpu_does_not_count(self):
        (row,) = [row for row in self.answer("03") if row[1] == "ranks"]
        self.assertEqual(row[4], 13958643712)
        self.assertEqual({row[1] for row in self.answer("02") if row[0] == "ranks"}, {0})

    def test_commits_of_a_program_are_compared(self):
        rows = self.answer("04")
        before, now = ("c%d" % (len(SMALL) + at) for at in range(2))
        (row,) = [row for row in rows if row[1] == now]
        self.assertEqual((row[2], row[5], row[6]), (before, 3 * row[4], 2 * row[4]))

    def test_new_modules_have_grown(self):
        rows = {row[3]: row[4:] for row in self.answer("05")}
        self.assertEqual(sorted(rows), ["layers.0", "layers.1"])
        self.assertEqual(rows["layers.1"][0], 0)
        self.assertGreater(rows["layers.1"][1], 0)
        self.assertGreater(rows["layers.0"][1], 2 * rows["layers.0"][0])

    def test_what_held_the_memory_when_a_request_was_refused(self):
        held = [row[10:] for row in self.answer("07") if row[0] == "ranks"]
        self.assertEqual([row[0] for row in held], [1, 2])
        self.assertTrue(held[0][1].startswith("#not a section"), held)
        self.assertEqual([row[4:] for row in held], [[1, 12 << 30], [1, 1 << 30]])

    def test_each_run_beside_each_model(self):
        rows = self.answer("08")
        runs = {row[1] for row in self.answer("03")}
        models = {row[0] for row in rows}
        self.assertEqual(len(rows), len(runs) * len(models))
        self.assertEqual({row[5] for row in rows}, {"yes", "no", "perhaps"})
        for gpu, total, run, allocated, most, fits, _ in rows:
            self.assertEqual(fits == "no", allocated > total, (gpu, run))
            self.assertEqual(fits == "yes", most is not None and allocated <= total >= most)

    def test_without_any_gpu_usual_sizes(self):
        alone = fleet_engines.SQLite({"cpu": os.path.join(WORK, "small", "cpu.db")}, {})
        (text,) = [text for name, text in fleet_engines.questions() if name.startswith("08")]
        self.assertEqual(
            [row[0] for row in alone.ask(text)],
            ["any of %d GiB" % size for size in (8, 16, 24, 40, 80)],
        )

    def same(self, engine):
        why = fleet_engines.missing(engine)
        if why:
            self.skipTest(why)
        asked = getattr(fleet_engines, engine)(self.folder, self.names)
        for name, text in fleet_engines.questions():
            with self.subTest(question=name):
                self.assertEqual(asked.ask(text), self.sqlite.ask(text))

    def test_duckdb(self):
        self.same("DuckDB")

    def test_clickhouse(self):
        self.same("ChDB")

    def test_spark(self):
        self.same("Spark")


def duckdb_with_sqlite():
    """A connection with DuckDB's extension for SQLite; None: it is not here, and nothing is downloaded."""
    if not importlib.util.find_spec("duckdb"):
        return None
    import duckdb

    connection = duckdb.connect()
    found = importlib.util.find_spec("duckdb_extension_sqlite_scanner")
    folders = found.submodule_search_locations if found else []
    files = [
        path for one in folders for path in glob.glob(one + "/**/*.duckdb_extension", recursive=True)
    ]
    try:
        connection.execute("LOAD '%s'" % files[0] if files else "LOAD sqlite_scanner")
    except duckdb.Error:
        return None
    return connection


class Attached(unittest.TestCase):
    def test_duckdb_reads_a_recording_as_it_is(self):
        """Its tables, and each promised view, which SQLite itself has to read."""
        connection = duckdb_with_sqlite()
        if connection is None:
            self.skipTest("DuckDB's extension for SQLite is not installed")
        from tidemark import _parquet_views as views

        path = recording("train")
        connection.execute("ATTACH '%s' AS run (TYPE sqlite, READ_ONLY)" % path)
        own = sqlite3.connect(path)
        count = "SELECT count(*), sum(size) FROM %sallocation"
        self.assertEqual(
            connection.execute(count % "run.").fetchall(), own.execute(count % "").fetchall()
        )
        for name in views.VIEWS:
            question = "SELECT count(*) FROM "
            asked = connection.execute(
                question + "sqlite_query('run', 'SELECT * FROM %s')" % name
            ).fetchall()
            self.assertEqual(asked, own.execute(question + name).fetchall(), name)


if __name__ == "__main__":
    support.main()
