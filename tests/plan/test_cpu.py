"""`tidemark plan` by scaling, with a real PyTorch: what it says of a value that was never run is what
a run with that value then takes, to the byte."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
PYTHON = os.environ["TIDEMARK_TEST_PYTHON"]
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cpu.py")
LONG = bool(os.environ.get("TIDEMARK_TEST_LONG"))
# For which CUDA torch was built stands in a file: to import it takes a second or two.
BUILT = """
import importlib.util, os, runpy
spec = importlib.util.find_spec("torch")
print(runpy.run_path(os.path.join(os.path.dirname(spec.origin), "version.py"))["cuda"])
"""
failed = 0


def check(got, want, what):
    global failed
    if got != want:
        failed += 1
        print("FAIL %s\n  want: %s\n  got:  %s" % (what, want, got))


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("%s\nexit %d\n%s%s" % (words, done.returncode, done.stdout, done.stderr))
    return done.stdout


def fit(database):
    """The first row of the device that has most."""
    rows = json.loads(run(TIDEMARK, "fit", "-f", "json", database))["tables"]["fit"]
    return max(rows, key=lambda row: row["peak_allocated"])


def scaled(name, memory, values, arguments):
    text = run(TIDEMARK, "plan", "--gpu", "cc=8.0,memory=%d" % memory, "--vary",
               "%s=%s" % (name, values), "-o", name, "-f", "json", "--", PYTHON, PROGRAM, *arguments)
    told = json.loads(text)
    answer = told["tables"]["plan"][0]
    check(answer["known_by"], "scaling", "%s: the way" % name)
    check(answer["result"], "fits", "%s: the result" % name)
    check(int(answer["refused"]), int(answer["largest"]) + 1, "%s: the next" % name)
    laws = {row["law"] for row in told["tables"]["laws"]}
    check("no polynomial" in laws, False, "%s: laws %s" % (name, laws))
    real = [x.replace("{%s}" % name, answer["largest"]) for x in arguments]
    database = "%s.db" % name
    run(TIDEMARK, "record", "--steps", "3", "-o", database, "--", PYTHON, PROGRAM, *real)
    truth = fit(database)
    for key, column in [("allocated_bytes", "peak_allocated"), ("reserved_bytes", "peak_reserved"),
                        ("needed_bytes", "smallest")]:
        check(answer[key], truth[column], "%s=%s: %s" % (name, answer["largest"], key))
    room = answer["memory_bytes"] - answer["context_bytes"]
    check(answer["needed_bytes"] <= room, True, "%s: it fits" % name)
    for row in told["tables"]["tries"]:
        steps = run("sqlite3", "-readonly", row["recording"],
                    "SELECT count(*) FROM phase WHERE kind = 'optimizer' AND ended = 'end'")
        check(int(steps) >= 3, True, "%s: %s has %s steps" % (name, row["recording"], steps.strip()))


def main():
    asked = subprocess.run([PYTHON, "-c", BUILT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True)
    if asked.returncode:
        print("skipped: %s has no torch" % PYTHON)
        sys.exit(77)
    if asked.stdout != "None\n":
        print("skipped: the torch of %s is a CUDA build" % PYTHON)
        sys.exit(77)
    if not shutil.which("sqlite3"):
        print("skipped: sqlite3 is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if LONG:
            scaled("B", 640 << 20, "1..512", ["{B}", "64"])
        scaled("L", (640 if LONG else 480) << 20, "16..2048", ["2", "{L}"])
        os.chdir("/")
    print("%d failed" % failed)
    sys.exit(1 if failed else 0)


main()
