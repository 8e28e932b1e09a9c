"""The pytest plugin in sessions of pytest. Skipped where there is no pytest."""
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as tree

import support

import tidemark

SESSION = '''
import os
import pytest
from blocks import Memory

MIB = 2**20


@pytest.fixture(scope="module")
def around():
    yield 1
    with open("torn-down", "a") as file:
        file.write("once ")


def test_plain(around):
    assert os.getpid() == int(os.environ["SESSION"]) or "PYTEST_XDIST_WORKER" in os.environ


@pytest.fixture(scope="module")
def held(request):
    memory = Memory()
    memory.take(MIB, "fixture")
    print("fixture of", os.getpid())
    yield memory


@pytest.mark.tidemark(max_allocated="3MiB")
@pytest.mark.parametrize("count", [1, 2])
def test_within(held, count):
    held.take(count * MIB)


@pytest.mark.tidemark(max_allocated="3MiB")
def test_above(held):
    held.take(3 * MIB, "hoarder")


@pytest.mark.tidemark(max_allocated="3MiB")
class TestOfClass:
    def test_inherits(self, held):
        held.take(3 * MIB)

    @pytest.mark.tidemark(max_allocated="9MiB")
    def test_has_its_own(self, held):
        held.take(3 * MIB)


@pytest.mark.tidemark(max_allocated="1GiB")
def test_fails(held):
    print("words of the child")
    assert [1, 2] == [1, 3]


@pytest.mark.tidemark(max_allocated="1GiB")
@pytest.mark.xfail(reason="known")
def test_expected():
    assert 0


@pytest.mark.tidemark(max_allocated="1GiB")
@pytest.mark.skip(reason="not now")
def test_skipped():
    raise SystemExit(3)


@pytest.mark.tidemark(max_allocated="1GiB")
def test_skips_itself():
    pytest.skip("not here")


@pytest.mark.tidemark(max_allocated="1GiB")
def test_dies():
    os.kill(os.getpid(), 9)


@pytest.mark.tidemark(max_alocated="1GiB")
def test_misspelt():
    pass


@pytest.mark.tidemark(max_allocated="1GiB")
def test_without_memory():
    pass


@pytest.mark.tidemark(no_leaks=True)
@pytest.mark.parametrize("leaks", [True, False])
def test_steps(leaks):
    import tidemark

    memory = Memory()
    for step in range(12):
        tidemark.step(step)
        with tidemark.phase("work"):
            kept = memory.take(1000, "leaky")
        if not leaks:
            memory.give(kept)
    tidemark.step(12)


@pytest.mark.tidemark
def test_option(held, request):
    assert request.config.getoption("mine") == "yours"
'''

# What the module before left set up is torn down before this one begins.
NEXT = '''
def test_next():
    assert open("torn-down").read() == "once "
'''

# pytest empties the folder of --basetemp as it begins.
TEMPORARY = '''
import pytest


def test_writes(tmp_path_factory):
    (tmp_path_factory.getbasetemp() / "kept").write_text("kept")


@pytest.mark.tidemark(max_allocated="1GiB", allow_unknown=True)
def test_has_its_own(tmp_path):
    (tmp_path / "own").write_text("own")


def test_is_kept(tmp_path_factory):
    assert (tmp_path_factory.getbasetemp() / "kept").exists()
'''

CONFTEST = '''
import os

os.environ.setdefault("SESSION", str(os.getpid()))


def pytest_addoption(parser):
    parser.addoption("--mine", default="nobody's")
'''


def project(name):
    folder = os.path.join(support.WORK, "session-" + name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for file, text in (
        ("test_memory.py", SESSION),
        ("test_next.py", NEXT),
        ("conftest.py", CONFTEST),
    ):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
            out.write(text)
    here = os.path.dirname(os.path.abspath(__file__))
    shutil.copy(os.path.join(here, "blocks.py"), folder)
    return folder


def session(folder, *words, before=()):
    """Of each test how it ended and what was said of it; and all that pytest printed."""
    command = [*before, sys.executable, "-m", "pytest", "-p", "tidemark.pytest_plugin"]
    command += ["--mine", "yours", "--junitxml", "junit.xml", "-p", "no:randomly", *words]
    paths = [os.path.join(support.SOURCE, "python"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said = done.stdout.decode("utf-8", "replace")
    results = {}
    path = os.path.join(folder, "junit.xml")
    for case in tree.parse(path).iter("testcase") if os.path.exists(path) else ():
        found = [child for child in case if child.tag in ("failure", "error", "skipped")]
        how = found[0].tag if found else "passed"
        text = " ".join((one.get("message") or "") + "\n" + (one.text or "") for one in found)
        results[case.get("name")] = (how, text)
    return results, said


@unittest.skipIf(importlib.util.find_spec("pytest") is None, "this Python has no pytest")
class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = project("all")
        cls.results, cls.said = session(cls.folder)

    def expect(self, name, how, *texts):
        self.assertIn(name, self.results, self.said)
        got, text = self.results[name]
        self.assertEqual(got, how, text)
        for wanted in texts:
            self.assertIn(wanted, text)

    def recordings(self, name):
        folder = os.path.join(self.folder, ".pytest_cache", "d", "tidemark")
        return [os.path.join(folder, file) for file in os.listdir(folder) if name in file]

    def test_limits(self):
        self.expect("test_within[1]", "passed")
        self.expect("test_within[2]", "passed")
        self.expect("test_has_its_own", "passed")
        self.expect("test_inherits", "failure", "the limit is 3MiB")
        self.expect(
            "test_above", "failure", "virtual:0: 4 MiB (4194304 bytes) allocated", "hoarder"
        )

    def test_recordings_of_failures_are_kept(self):
        self.assertEqual(self.recordings("test-within"), [])
        (kept,) = self.recordings("test-above")
        self.assertIn("recording: " + kept, self.results["test_above"][1])
        peak = tidemark.open(kept, frames="dicts").peak().rows("peak")[0]
        self.assertEqual(peak["allocated"], 4 * 2**20)

    def test_what_the_test_said_itself(self):
        self.expect("test_fails", "failure", "assert [1, 2] == [1, 3]")
        self.assertIn("words of the child", self.said)

    def test_outcomes_stay(self):
        self.expect("test_expected", "skipped", "known")
        self.expect("test_skipped", "skipped", "not now")
        self.expect("test_skips_itself", "skipped", "not here")
        self.expect("test_dies", "failure", "killed by signal 9")
        self.expect("test_misspelt", "error", "tidemark has no limit max_alocated")
        self.expect("test_without_memory", "failure", "no memory was reported")
        self.expect("test_option", "passed")
        self.expect("test_plain", "passed")
        self.expect("test_next", "passed")

    def test_leaks(self):
        self.expect("test_steps[False]", "passed")
        self.expect("test_steps[True]", "failure", "leaves 1000 B (1000 bytes) behind", "leaky")


@unittest.skipIf(importlib.util.find_spec("pytest") is None, "this Python has no pytest")
class Sessions(unittest.TestCase):
    def test_baseline(self):
        folder = project("baseline")
        words = ("test_memory.py::test_within[1]", "--tidemark-baseline", "peaks.json")
        session(folder, *words, "--tidemark-update")
        path = os.path.join(folder, "peaks.json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn('"virtual:0": 2097152', text)
        self.assertEqual(session(folder, *words)[0]["test_within[1]"][0], "passed")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("2097152", "2000000"))
        how, text = session(folder, *words)[0]["test_within[1]"]
        self.assertEqual(how, "failure")
        self.assertIn("more by 4.9 %", text)
        words = ("test_memory.py::test_within", "--tidemark-baseline", "peaks.json")
        results, said = session(folder, *words, "--tidemark-tolerance=5%")
        self.assertEqual({how for how, _ in results.values()}, {"passed"})
        self.assertIn("1 tests have no peak in peaks.json yet", said)

    def test_the_session_keeps_its_temporary_files(self):
        folder = project("temporary")
        with open(os.path.join(folder, "test_temporary.py"), "w", encoding="utf-8") as file:
            file.write(TEMPORARY)
        words = ("test_temporary.py", "--basetemp", os.path.join(folder, "base"), "--cache-clear")
        results, said = session(folder, *words)
        self.assertEqual({how for how, _ in results.values()}, {"passed"}, said)
        self.assertEqual(len(results), 3, said)

    def test_a_recorded_session(self):
        folder = project("recorded")
        before = (support.COMMAND, "record", "--force", "-o", "session.db", "--")
        results, said = session(folder, "-k", "above or plain", before=before)
        self.assertEqual(results["test_above"][0], "passed")
        self.assertIn("their limits were not checked", said)
        run = tidemark.open(os.path.join(folder, "session.db"), frames="dicts")
        names = {row["name"] for row in run.sql("SELECT name FROM phase WHERE kind = 'user'")}
        self.assertEqual(names, {"test_memory.py::test_above", "test_memory.py::test_plain"})

    def test_misused(self):
        folder = project("misused")
        for words in (("--tidemark-update",), ("--tidemark-baseline", "none.json")):
            self.assertIn("ERROR: ", session(folder, *words)[1])

    @unittest.skipIf(importlib.util.find_spec("xdist") is None, "this Python has no xdist")
    @unittest.skipUnless(os.environ.get("TIDEMARK_TEST_LONG"), "the long form has xdist, too")
    def test_xdist(self):
        folder = project("xdist")
        words = ("-n", "2", "-k", "within or above", "--tidemark-baseline", "p.json")
        results, said = session(folder, *words, "--tidemark-update")
        self.assertEqual(results["test_within[2]"][0], "passed", said)
        self.assertEqual(results["test_above"][0], "failure", said)
        self.assertIn("3 peaks written to p.json", said)


if __name__ == "__main__":
    support.main()
