"""mypy --strict of what the package shows, and of a program that uses it. Skipped without mypy."""
import importlib.util
import os
import subprocess
import sys
import unittest

import support

FOLDER = os.path.join(support.SOURCE, "python", "tidemark")
# The guest's helper is loaded by old interpreters, and has no types.
UNTYPED = (
    "asserts assigned attach boot buckets dtypes history holders install lists marks modules names "
    "native objects peaks profiler ranks settle tags"
).split()

PROGRAM = """
import tidemark

run: tidemark.Run = tidemark.open("run.db", frames="dicts")
report: tidemark.Report = run.live_at((3, "backward"), top=4, rank=0)
notes: list[str] = report.notes
fits: bool = run.fit(memory="24GiB").passed
page: str = run.page()
with tidemark.record("a.db") as recording:
    with tidemark.phase("mine"):
        tidemark.step(1)
again: tidemark.Run = recording.run()


@tidemark.phase("f")
def f(number: int) -> int:
    return number


value: int = f(1)
"""


def typed():
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".py") and name[1:-3] not in UNTYPED:
            yield os.path.join(FOLDER, name)


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "this Python has no mypy")
class Types(unittest.TestCase):
    def check(self, *words):
        cache = os.path.join(support.WORK, "mypy")
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *words]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            cwd=support.WORK,
            env={**os.environ, "MYPYPATH": os.path.dirname(FOLDER)},
        )
        return done.returncode, done.stdout.decode()

    def test_the_package(self):
        status, said = self.check("--follow-imports=silent", *typed())
        self.assertEqual(status, 0, said)

    def test_a_program(self):
        path = os.path.join(support.WORK, "typed_program.py")
        for program, right in ((PROGRAM, True), (PROGRAM + "wrong: int = run.page()\n", False)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(program)
            status, said = self.check("--follow-imports=silent", path)
            self.assertEqual(status == 0, right, said)


if __name__ == "__main__":
    support.main()
