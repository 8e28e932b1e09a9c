"""Runs the tests that pack.py packed, where there is no ctest.

    run_tests.py PACK OUT

Output goes into OUT/NAME.log. Exit status: 0 none failed, 1 some did, 77 all were skipped.
"""
import json
import os
import subprocess
import sys

SKIPPED = 77


def run(test, pack, tree, out):
    """The exit status; text for a test that did not end in its time or that cannot be started."""
    def here(text):
        return text.replace("@PACK@", pack).replace("@TREE@", tree)
    environment = dict(os.environ)
    environment.update({name: here(value) for name, value in test["environment"].items()})
    with open(os.path.join(out, test["name"] + ".log"), "w") as log:
        try:
            return subprocess.run([here(word) for word in test["command"]], stdout=log,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  env=environment, timeout=test["timeout"]).returncode
        except subprocess.TimeoutExpired:
            return "not over after %g s" % test["timeout"]
        except OSError as error:
            return str(error)


def main():
    pack, out = (os.path.abspath(path) for path in sys.argv[1:3])
    tree = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(pack, "tests.json")) as file:
        tests = json.load(file)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for test in tests:
        status = run(test, pack, tree, out)
        result = "passed" if status == 0 else "skipped" if status == SKIPPED else "failed"
        counts[result] += 1
        print("%-40s %s%s" % (test["name"], result,
                              "" if result != "failed" else ": %s" % status), flush=True)
    print("figures: %(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] else 0 if counts["passed"] else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
