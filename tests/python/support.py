"""What the tests of the package share: recordings made of tests/data, the command's own JSON, and
tests that say why they were skipped. Nothing but the standard library."""
import json
import os
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = os.environ["TIDEMARK"]
MAKE_FIXTURE = os.environ["TIDEMARK_MAKE_FIXTURE"]
WORK = os.environ["TIDEMARK_TEST_FOLDER"]
sys.path.insert(0, os.path.join(SOURCE, "python"))


def recording(name, folder=WORK):
    """One of tests/data, made anew."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".db")
    for end in ("", "-wal", "-shm"):
        if os.path.exists(path + end):
            os.unlink(path + end)
    sql = os.path.join(SOURCE, "tests", "data", name + ".sql")
    subprocess.run([MAKE_FIXTURE, path, sql], check=True)
    return path


def command(*words, status=(0,)):
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in status:
        raise AssertionError("%s: %d: %s" % (words, done.returncode, done.stderr.decode()))
    return done.stdout.decode("utf-8", "replace")


def tables(*words, status=(0,)):
    return json.loads(command(*words, "--format", "json", status=status))["tables"]


def main():
    """77 where every test was skipped, and the reasons."""
    result = unittest.main(exit=False, verbosity=1).result
    for test, why in result.skipped:
        print("skipped: %s: %s" % (test.id(), why))
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun and len(result.skipped) == result.testsRun else 0)
