"""What the tests of the samples for PyTorch share: `tidemark record`, and questions to its
database.

The environment says what is tested: TIDEMARK (the command), TIDEMARK_TEST_PYTHON (an interpreter
with torch), TIDEMARK_SAMPLES (samples/torch). The recorded programs run on one thread, which is the
quickest for models of this size, and the same everywhere.
"""
import atexit
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
OBSERVED = os.path.join(HERE, "observed.py")
PROGRAMS = os.path.join(HERE, "programs")
SHARED = os.path.join(os.path.dirname(HERE), "torch", "programs")
TIDEMARK = os.environ["TIDEMARK"]
PYTHON = os.environ["TIDEMARK_TEST_PYTHON"]
SAMPLES = os.environ["TIDEMARK_SAMPLES"]

OBSERVABLE = ("beginning", "built", "wrapped", "zero_grad", "forward", "loss", "backward",
              "optimizer")

# The long form was asked for, label slow.
LONG = bool(os.environ.get("TIDEMARK_TEST_LONG"))
# Importing torch takes a second or two of every test: its version stands in a file.
VERSION = """
import importlib.util, os, runpy
spec = importlib.util.find_spec("torch")
print(runpy.run_path(os.path.join(os.path.dirname(spec.origin), "version.py"))["__version__"])
"""

# What several files of tests look at: by ctest it is recorded once, into TIDEMARK_SHARED (shared.py).
# Logits are about twice the parameters, as in the dimensions of the thread.
SEQ2SEQ = dict(batch=32, length=8, vocab=3072, input=32, hidden=64, attention=64)
SEQ2SEQ_LOGITS = 4 * SEQ2SEQ["batch"] * SEQ2SEQ["length"] * SEQ2SEQ["vocab"]
SEQ2SEQ_WORDS = tuple("--%s=%d" % pair for pair in SEQ2SEQ.items())
SEQ2SEQ_COMMAND = (OBSERVED, os.path.join(SAMPLES, "seq2seq.py")) + SEQ2SEQ_WORDS
DDP_COMMAND = (OBSERVED, os.path.join(SAMPLES, "ddp.py"))
SHARED_COMMANDS = {
    "seq2seq": SEQ2SEQ_COMMAND,
    "seq2seq-none": SEQ2SEQ_COMMAND + ("--grads", "none"),
    "seq2seq-dropped": SEQ2SEQ_COMMAND + ("--drop-logits",),
    "seq2seq-both": SEQ2SEQ_COMMAND + ("--drop-logits", "--grads", "none"),
    "ddp": DDP_COMMAND,
    "ddp-views": DDP_COMMAND + ("--bucket-view",),
}

_folder = tempfile.mkdtemp(prefix="tidemark-samples-")
atexit.register(shutil.rmtree, _folder, True)


def sample(name):
    return os.path.join(SAMPLES, name)


def environment(threads="1"):
    """Without what the tests or the machine would add; threads None: as many as there are."""
    dropped = ("TIDEMARK_G", "TIDEMARK_H", "PYTHON", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    kept.update(PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore:Failed to initialize NumPy")
    if threads:
        kept["OMP_NUM_THREADS"] = threads
    return kept


def run(command, timeout=900, threads="1"):
    return subprocess.run(command, env=environment(threads), capture_output=True, text=True,
                          timeout=timeout)


def interruptible():
    """For preexec_fn: what was started in the background of a script has SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def bare(*arguments):
    done = run([PYTHON] + list(arguments))
    expect(done.returncode, 0, done.stderr)
    return done.stdout


def record(*arguments, **options):
    """A Recording of the interpreter with these arguments. options: those of `tidemark record`, and
    those of run(); program: what is recorded instead of the interpreter; status: how it ends."""
    program = options.pop("program", PYTHON)
    path = os.path.join(_folder, "%d.db" % len(os.listdir(_folder)))
    status = options.pop("status", 0)
    command = [TIDEMARK, "record", "-o", path] + options.pop("options", []) + ["--", program]
    done = run(command + list(arguments), **options)
    expect(done.returncode, status, done.stdout + done.stderr)
    return Recording(path, done.stdout, done.stderr)


def once(function):
    """A recording that several tests look at is made once."""
    made = []

    def get():
        if not made:
            made.append(function())
        return made[0]

    return get


def shared(name):
    """Of SHARED_COMMANDS, when it is wanted: what is there, or one of its own."""
    def get():
        path = os.path.join(os.environ.get("TIDEMARK_SHARED", ""), name + ".db")
        if not os.path.exists(path):
            return record(*SHARED_COMMANDS[name])
        with open(path + ".said") as said:
            return Recording(path, *json.load(said))

    return once(get)


def more(*cases):
    """Cases of the long form."""
    return cases if LONG else ()


class Recording(object):
    """A database; what it says of one process unless a method says otherwise."""

    def __init__(self, path, out="", err=""):
        self.path, self.out, self.err = path, out, err
        self.db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)

    def rows(self, question, *values):
        return self.db.execute(question, values).fetchall()

    def report(self, name, *options):
        """A report's tables, as `tidemark NAME --format json` prints them: {name: rows}."""
        done = run([TIDEMARK, name, "--format", "json"] + list(options) + [self.path])
        expect(done.returncode, 0, "tidemark %s: %s" % (name, done.stderr))
        return json.loads(done.stdout)["tables"]

    def is_whole(self, expected=()):
        """Nothing was lost, torn, or beyond belief but anomalies of the kinds that are expected."""
        for table in ("lost", "torn"):
            expect(self.rows("SELECT * FROM " + table), [], table)
        found = self.rows("SELECT process, kind, address, detail FROM anomaly")
        expect([row for row in found if row[1] not in expected], [], "anomalies")

    def process_of_rank(self, rank):
        """The one of them that has blocks: helpers of multiprocessing inherit the rank."""
        found = self.rows("SELECT DISTINCT p.id FROM process p JOIN heap h ON h.process = p.id "
                          "JOIN allocation a ON a.heap = h.id WHERE p.rank = ?", rank)
        expect(len(found), 1, "processes of rank %d" % rank)
        return found[0][0]

    # ---- marks that observed.py and the shared programs make ----

    def mark(self, name, value, process=1):
        found = self.rows("SELECT seq FROM mark WHERE process = ? AND name = ? AND value = ?",
                          process, name, value)
        expect(len(found), 1, "marks %s %d" % (name, value))
        return found[0][0]

    def cases(self, process=1):
        """Of programs made of cases: {name: (first seq, last seq)}."""
        found, name = {}, None
        for seq, text in self.rows("SELECT seq, name FROM mark WHERE process = ? ORDER BY seq",
                                   process):
            if text.startswith("case "):
                name, begin = text[len("case "):], seq
            elif text == "end":
                found[name] = (begin, seq)
        return found

    # ---- bytes ----

    def events(self, process=1):
        """(seq, change) of every birth and death of a block, in order."""
        found = []
        for seq, size, freed in self.rows(
                "SELECT a.seq, a.size, a.free_seq FROM allocation a JOIN heap h ON h.id = a.heap "
                "WHERE h.process = ?", process):
            found.append((seq, size))
            if freed >= 0:
                found.append((freed, -size))
        return sorted(found)

    def live(self, seq, category=None, process=1):
        """{name of the tag or None: bytes} of the blocks that live at an instant."""
        found = {}
        for name, size in self.rows(
                "SELECT t.name, sum(a.size) FROM allocation a JOIN heap h ON h.id = a.heap "
                "LEFT JOIN tag_text t ON t.id = a.tag "
                "WHERE h.process = ? AND a.seq <= ? AND (a.free_seq < 0 OR a.free_seq > ?) "
                "AND (? IS NULL OR t.category = ?) GROUP BY t.name",
                process, seq, seq, category, category):
            found[name] = size
        return found

    def allocated(self, seq, process=1):
        return sum(self.live(seq, process=process).values())

    def printed(self, process=1):
        """{(step, phase): (allocated, highest so far)} where observed.py made its marks, which is
        where a program would print its counters. Before the first step, step is None."""
        changes = self.events(process) + self.rows(
            "SELECT seq, name || ' ' || value FROM mark WHERE process = ? AND name IN ("
            + ", ".join("'%s'" % name for name in OBSERVABLE) + ")", process)
        found, now, highest = {}, 0, 0
        for _, what in sorted(changes, key=lambda change: change[0]):
            if isinstance(what, int):
                now += what
                highest = max(highest, now)
            else:
                name, step = what.split()
                found[None if step == "-1" else int(step), name] = (now, highest)
        return found

    # ---- phases ----

    def phases(self, first=0, last=None, process=1):
        """Words for phases: "name", "name!" if an exception ended it, "name(inner ...)" with the
        phases inside it; of the outermost ones (step, word). What is between is left out: kind
        'other', and what comes after a backward if no block was born there."""
        last = last or self.rows("SELECT max(end_seq) FROM phase")[0][0]
        rows = self.rows(
            "SELECT ph.id, ph.parent, ph.name, ph.step, ph.ended FROM phase ph "
            "WHERE ph.process = ? AND ph.begin_seq >= ? AND ph.end_seq <= ? AND ph.kind <> 'other' "
            "AND ph.scope = 'process' "
            "AND (ph.kind <> 'after_backward' OR EXISTS (SELECT * FROM phase_device pd "
            "WHERE pd.phase = ph.id AND pd.allocs > 0)) ORDER BY ph.begin_seq, ph.id",
            process, first, last)
        inside, known = {}, {row[0] for row in rows}
        for row in rows:
            inside.setdefault(row[1] if row[1] in known else None, []).append(row)

        def word(row):
            inner = " ".join(word(one) for one in inside.get(row[0], ()))
            return row[2] + ("!" if row[4] == "exception" else "") + (inner and "(%s)" % inner)

        return [(row[3], word(row)) for row in inside.get(None, ())]

    def steps(self, first=0, last=None, process=1):
        """The phases of each step, in words: ["zero_grad forward ...", ...]; the first is step 0.
        Phases of no step stand alone."""
        found, before = [], object()
        for step, word in self.phases(first, last, process):
            if step is not None and step == before:
                found[-1] += " " + word
            else:
                found.append(word)
            before = step
        return found

    def table(self, process=1):
        """{(step, phase): row} of phase_table; of phases that come again the last. Rows have the
        attributes allocated, max_allocated, phase_peak, begin_allocated, begin_seq, end_seq."""
        rows = self.rows(
            "SELECT ph.step, ph.name, pd.begin_allocated, pd.allocated, pd.max_allocated, "
            "pd.peak_allocated, ph.begin_seq, ph.end_seq FROM phase ph JOIN phase_device pd "
            "ON pd.phase = ph.id WHERE ph.process = ? AND ph.kind <> 'other' "
            "ORDER BY ph.begin_seq", process)
        return {row[:2]: Row(row) for row in rows}


class Row(object):
    def __init__(self, row):
        (self.step, self.phase, self.begin_allocated, self.allocated, self.max_allocated,
         self.phase_peak, self.begin_seq, self.end_seq) = row


# ---- tests ----

def expect(got, wanted, what=""):
    if got != wanted:
        raise AssertionError("%s\n  got    %r\n  wanted %r" % (what, got, wanted))


def within(got, low, high, what):
    if not low <= got <= high:
        raise AssertionError("%s\n  got    %s\n  wanted %s to %s" % (what, got, low, high))


def torch_version():
    """(1, 13), or None with the reason printed."""
    try:
        done = run([PYTHON, "-c", VERSION])
    except OSError as error:
        print("skipped:", error)
        return None
    if done.returncode:
        print("skipped: %s has no torch: %s" % (PYTHON, done.stderr.strip()[-200:]))
        return None
    return tuple(int(part) for part in done.stdout.split(".")[:2])


class Skipped(Exception):
    """Raised by a test that cannot run with this torch, with the reason."""


def main(*tests):
    """Runs the tests, or those named; 77 when there is nothing to test with, also when one of
    several tests has not: what may be skipped should have a file of its own."""
    if torch_version() is None:
        sys.exit(77)
    run_tests(*tests)


def run_tests(*tests):
    """Of main(), for programs without torch."""
    chosen = [test for test in tests if not sys.argv[1:] or test.__name__ in sys.argv[1:]]
    failed = skipped = 0
    for test in chosen:
        try:
            test()
            print("ok  ", test.__name__)
        except Skipped as why:
            skipped += 1
            print("skipped:", test.__name__ + ":", why)
        except Exception:
            failed += 1
            print("FAIL", test.__name__)
            traceback.print_exc(file=sys.stdout)
    sys.exit(1 if failed or not chosen else 77 if skipped else 0)
