"""Every figure of the API is the command's: on eight recordings, each report, row by row."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import types
import unittest
import unittest.mock

import support
from support import command, recording, tables

import tidemark

EIGHT = ("train", "torch", "gpu", "leaks", "ranks", "pools", "twogpus", "thinned")
RUNS = {}


def run_of(name, frames="dicts"):
    if name not in RUNS:
        RUNS[name] = recording(name)
    return tidemark.open(RUNS[name], frames=frames)


class Figures(unittest.TestCase):
    """Each call beside the words that a person would type."""

    def same(self, report, *words, status=(0,)):
        expected = tables(*words, status=status)
        self.assertEqual(list(report), list(expected))
        for name in expected:
            self.assertEqual(report[name], expected[name], "%s of %s" % (name, words))
            self.assertEqual(report.rows(name), expected[name])
        return sum(len(rows) for rows in expected.values())

    def each(self, ask, words, status=(0,)):
        rows = 0
        for name in EIGHT:
            with self.subTest(recording=name):
                run = run_of(name)
                given = [word if word is not None else run.path for word in words]
                rows += self.same(ask(run), *given, status=status)
        self.assertGreater(rows, 0)

    def table(self, ask, name, words):
        rows = 0
        for recorded in EIGHT:
            with self.subTest(recording=recorded):
                run = run_of(recorded)
                given = [word if word is not None else run.path for word in words]
                expected = tables(*given)[name]
                self.assertEqual(ask(run), expected)
                rows += len(expected)
        self.assertGreater(rows, 0, "no recording has a row of %s" % name)

    def test_peak(self):
        self.each(lambda run: run.peak(), ("peak", None))
        self.each(lambda run: run.peak(top=2), ("peak", None, "--top", "2"))

    def test_levers(self):
        self.table(lambda run: run.levers(), "levers", ("peak", None))

    def test_phases(self):
        self.table(lambda run: run.phases(), "phases", ("phases", None))
        self.table(lambda run: run.phases(all=True), "phases", ("phases", None, "--all"))

    def test_live_at(self):
        self.each(lambda run: run.live_at(), ("live", None))
        self.each(lambda run: run.live_at("end", top=3), ("live", None, "end", "--top", "3"))

    def test_modules(self):
        for recorded in EIGHT:
            run = run_of(recorded)
            self.assertEqual(run.modules(), tables("modules", run.path)["modules"])

    def test_leaks(self):
        self.table(lambda run: run.leaks(), "leaks", ("leaks", None))
        self.table(lambda run: run.leaks(keep=1), "leaks", ("leaks", None, "--keep", "1"))

    def test_timeline(self):
        self.table(lambda run: run.timeline(), "timeline", ("timeline", None))
        self.table(
            lambda run: run.timeline(by="category"),
            "timeline_by_category",
            ("timeline", None, "--bytes-by", "category"),
        )

    def test_fit(self):
        self.each(lambda run: run.fit(), ("fit", None), status=(0, 1))
        words = ("fit", None, "--memory", "1GiB")
        self.each(lambda run: run.fit(memory="1GiB"), words, status=(0, 1))

    def test_check(self):
        words = ("check", None, "--max-peak", "1G", "--no-oom")
        self.each(lambda run: run.check(max_peak="1G", no_oom=True), words, status=(0, 1))

    def test_info(self):
        self.each(lambda run: run.info(), ("info", None))

    def test_why(self):
        for recorded in ("train", "gpu", "thinned"):
            run = run_of(recorded)
            self.same(run.why(), "why", run.path)
        run = run_of("train")
        self.same(run.why(0, 1), "why", run.path, "0..1")
        self.same(run.why(1), "why", run.path, "1")
        self.same(run.why((0, "forward"), "end", top=2), "why", run.path, "0/forward..end", "-n", "2")

    def test_sql(self):
        question = "SELECT * FROM allocations ORDER BY allocation"
        rows = 0
        for recorded in EIGHT:
            run = run_of(recorded)
            expected = tables("sql", run.path, question)["result"]
            self.assertEqual(run.sql(question), expected)
            rows += len(expected)
        self.assertGreater(rows, 100)

    def test_other_reports_and_picks(self):
        run = run_of("ranks")
        self.same(run.report("ladder"), "ladder", run.path)
        self.same(run.peak(rank=1), "peak", run.path, "--rank", "1")
        self.same(run.peak(process=2, device="cpu"), "peak", run.path, "-p", "2", "-d", "cpu")
        run = run_of("train")
        self.same(run.peak(steps=0), "peak", run.path, "--steps", "0..0")
        self.same(run.peak(steps=(1, None)), "peak", run.path, "--steps", "1..")
        self.same(run.peak(steps=range(0, 2)), "peak", run.path, "--steps", "0..1")

    def test_pages(self):
        run = run_of("train")
        os.chdir(support.WORK)
        self.assertEqual(run.page(), command("peak", "train.db"))
        self.assertEqual(run.page("phases"), command("phases", "train.db"))


class Version(unittest.TestCase):
    """It has one place, CMakeLists.txt; without a command, nobody knows it."""

    def test_is_the_command_s(self):
        with open(os.path.join(support.SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"^project\(tidemark VERSION ([0-9.]+) ", file.read(), re.MULTILINE)
        self.assertEqual(tidemark.__version__, version.group(1))
        self.assertIn(tidemark.__version__, command("--version").splitlines()[0])

    def test_no_command(self):
        vars(tidemark).pop("__version__", None)
        with unittest.mock.patch.dict(os.environ, TIDEMARK="/nonexistent/tidemark"):
            self.assertFalse(hasattr(tidemark, "__version__"))
        self.assertTrue(hasattr(tidemark, "__version__"))


class Moments(unittest.TestCase):
    def test_words(self):
        from tidemark._run import moment_text, steps_text

        for given, text in (
            (3, "3"),
            ("3/backward", "3/backward"),
            ("step 3", "3"),
            ("step 3 backward", "3/backward"),
            ("step 12, forward", "12/forward"),
            ((3, "backward"), "3/backward"),
            (0.0015, "@1500000ns"),
            ("@20ms", "@20ms"),
            ("peak", "peak"),
        ):
            self.assertEqual(moment_text(given), text)
        self.assertEqual(steps_text("2.."), "2..")
        with self.assertRaises(ValueError):
            steps_text(range(0, 9, 2))
        with self.assertRaises(TypeError):
            moment_text(True)

    def test_a_time_is_the_commands(self):
        run = run_of("train")
        self.assertEqual(
            run.live_at(0.030).rows("moment"), tables("live", run.path, "@30000000ns")["moment"]
        )


class Refusals(unittest.TestCase):
    def test_no_file(self):
        with self.assertRaises(tidemark.Refused) as caught:
            tidemark.open("/nonexistent/run.db")
        self.assertEqual(caught.exception.status, 3)
        self.assertEqual(str(caught.exception), "/nonexistent/run.db: No such file or directory")

    def test_no_recording(self):
        path = os.path.join(support.WORK, "text.db")
        with open(path, "w", encoding="utf-8") as file:
            file.write("not a recording")
        with self.assertRaises(tidemark.Refused) as caught:
            tidemark.open(path)
        self.assertEqual(caught.exception.status, 3)

    def test_wrong_usage(self):
        run = run_of("train")
        for ask in (
            lambda: run.fit(memory="x"),
            lambda: run.live_at("step 99"),
            lambda: run.report("peak", nonsense=True),
            lambda: run.sql("SELECT nothing"),
        ):
            with self.assertRaises(tidemark.Refused) as caught:
                ask()
            self.assertEqual(caught.exception.status, 2)
            self.assertTrue(str(caught.exception))

    def test_no_command(self):
        before = os.environ["TIDEMARK"]
        os.environ["TIDEMARK"] = "/nonexistent/tidemark"
        try:
            with self.assertRaises(tidemark.Unavailable):
                tidemark.open(os.path.join(support.WORK, "other.db"))
        finally:
            os.environ["TIDEMARK"] = before

    def test_unknown_names(self):
        with self.assertRaises(AttributeError):
            tidemark.nothing
        with self.assertRaises(AttributeError):
            run_of("train").peak().nothing
        with self.assertRaises(ValueError):
            tidemark.open(run_of("train").path, frames="arrow")


class Reading(unittest.TestCase):
    def test_asked_once_until_the_file_changes(self):
        run = tidemark.open(recording("before", os.path.join(support.WORK, "own")), frames="dicts")
        first = run.peak()
        self.assertIs(run.peak(), first)
        os.utime(run.path, ns=(1, 1))
        self.assertIsNot(run.peak(), first)

    def test_what_it_gives_is_the_callers(self):
        run = run_of("train")
        run.peak().rows("by_site")[0]["bytes"] = 0
        run.peak()["by_site"][0]["bytes"] = 0
        self.assertEqual(run.peak()["by_site"], tables("peak", run.path)["by_site"])

    def test_the_newest_of_the_folder(self):
        folder = os.path.join(support.WORK, "newest")
        os.rename(recording("train", folder), os.path.join(folder, "tidemark.1.db"))
        os.chdir(folder)
        self.assertEqual(tidemark.open().path, os.path.join(folder, "tidemark.1.db"))
        os.chdir(support.WORK)

    def test_html(self):
        run = run_of("train")
        path = run.html(os.path.join(support.WORK, "train.html"))
        with open(path, encoding="utf-8") as file:
            self.assertIn("<html", file.read(200))
        shown = run._repr_html_()
        self.assertIn("peak 4.221 GiB, step 1, backward", shown)
        self.assertIn("optimizer state</span>", shown)
        self.assertIn("iframe", run.show()._repr_html_())

    def test_what_has_no_memory_shows_itself(self):
        run = run_of("silent")
        self.assertIn("<pre>", run._repr_html_())


class Frames(unittest.TestCase):
    """Frames hold what the JSON holds, 64 bits and gaps too."""

    QUESTION = (
        "SELECT 9007199254740993 AS big, NULL AS gap, 'x' AS text, 0.5 AS real"
        " UNION ALL SELECT NULL, NULL, NULL, NULL"
    )

    def needs(self, name):
        if importlib.util.find_spec(name) is None:
            self.skipTest("this Python has no " + name)

    def test_pandas(self):
        self.needs("pandas")
        run = run_of("train", frames="pandas")
        frame = run.sql(self.QUESTION)
        self.assertEqual(int(frame["big"][0]), 9007199254740993)
        self.assertEqual(str(frame["big"].dtype), "Int64")
        peak = run.peak()
        for name in peak:
            back = peak[name].astype(object)
            back = back.where(back.notna(), None).to_dict("records")
            self.assertEqual(back, peak.rows(name), name)

    def test_polars(self):
        self.needs("polars")
        run = run_of("train", frames="polars")
        self.assertEqual(run.sql(self.QUESTION)["big"].to_list(), [9007199254740993, None])
        peak = run.peak()
        for name in peak:
            self.assertEqual(peak[name].to_dicts(), peak.rows(name), name)

    def test_dicts_where_there_is_neither(self):
        script = (
            "import sys; sys.path.insert(0, %r)\n"
            "import importlib.util as u; find = u.find_spec\n"
            "u.find_spec = lambda n, *a: None if n in ('pandas', 'polars') else find(n, *a)\n"
            "import tidemark; print(type(tidemark.open(%r).phases()).__name__)\n"
        ) % (os.path.join(support.SOURCE, "python"), run_of("train").path)
        out = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
        self.assertEqual(out.stdout.decode().strip(), "list")


class Cheap(unittest.TestCase):
    def test_an_import_loads_nothing_else(self):
        """A recorded program that names its phases pays for no part of the API."""
        script = (
            "import sys; before = set(sys.modules); sys.path.insert(0, %r)\n"
            "import tidemark; tidemark.phase; tidemark.step(1)\n"
            "print(sorted(set(sys.modules) - before - {'tidemark', 'tidemark._native'}))\n"
        ) % os.path.join(support.SOURCE, "python")
        out = subprocess.run(
            [sys.executable, "-S", "-c", "import ctypes, types\n" + script],
            stdout=subprocess.PIPE,
            check=True,
        )
        self.assertEqual(out.stdout.decode().strip(), "[]")


class Record(unittest.TestCase):
    def test_without_a_recorder_it_says_why(self):
        ran = []
        with self.assertRaises(tidemark.NotRecording) as caught:
            with tidemark.record():
                ran.append(1)
        self.assertEqual(ran, [])
        self.assertIn("tidemark record --", str(caught.exception))

    def test_by_the_allocators_history(self):
        """A stand-in for torch: its snapshot is one of a test's, imported as any other."""
        from tidemark import _record

        snapshot = os.path.join(support.WORK, "made.pickle")
        subprocess.run([os.environ["TIDEMARK_MAKE_SNAPSHOT"], snapshot, "2000"], check=True)
        calls = []

        class Memory:
            def _record_memory_history(self, enabled="all", **how):
                calls.append((enabled, how))

            def _dump_snapshot(self, path):
                shutil.copy(snapshot, path)

        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(memory=Memory()))
        out = os.path.join(support.WORK, "history.db")
        for path in (out, out + ".txt"):
            if os.path.exists(path):
                os.unlink(path)
        way = _record.History(torch, out, False)
        way.begin()
        way.end(False)
        way.recording.ended = True
        self.assertEqual([enabled for enabled, _ in calls], ["all", None])
        self.assertGreater(way.recording.run().peak().rows("peak")[0]["allocated"], 0)
        with self.assertRaises(FileExistsError):
            _record.History(torch, out, False)
        _record.History(torch, out, True)
        with open(out + ".txt", "w", encoding="utf-8") as file:
            file.write("mine")
        with self.assertRaises(tidemark.Refused):
            _record.History(torch, out + ".txt", True)

    def test_under_a_recorder_it_is_a_phase(self):
        path = os.path.join(support.WORK, "inside.db")
        script = (
            "import tidemark\n"
            "with tidemark.record(name='warm-up') as recording:\n"
            "    pass\n"
            "print(recording.path)\n"
            "import os; os.environ['TIDEMARK'] = %r\n"
            "recording.run().info()\n" % support.COMMAND
        )
        words = ("record", "--force", "-o", path, "--", sys.executable, "-c", script)
        self.assertEqual(command(*words).splitlines()[0], path)
        names = {row["name"] for row in tidemark.open(path, "dicts").sql("SELECT name FROM phase")}
        self.assertIn("warm-up", names)


if __name__ == "__main__":
    support.main()
