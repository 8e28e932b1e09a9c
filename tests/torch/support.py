"""What the tests of the torch helper share: running a program with and without recording, and
looking at what was sent.

The environment says what is tested: TIDEMARK_DUMP (dump_recorder), TIDEMARK_GUEST (the library),
TIDEMARK_HELPER (the folder for PYTHONPATH), TIDEMARK_TEST_PYTHON (an interpreter with torch).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
HELPER = os.environ["TIDEMARK_HELPER"]
PYTHON = os.environ["TIDEMARK_TEST_PYTHON"]
LONG = bool(os.environ.get("TIDEMARK_TEST_LONG"))  # label slow
KINDS = {1: "F", 2: "B", 3: "Z", 4: "O", 5: "S"}
EXCEPTION, SOURCE, SETTING = 8, 16, 32


class Run(object):
    """One run: status, out, err; when recorded also events, processes, lost."""

    def __init__(self, status, out, err, lines=()):
        self.status, self.out = status, out
        # Of a torch that was built for another numpy, or for one that is not there.
        self.err = re.sub(r".*Failed to initialize NumPy.*\n(  .*\n)?", "", err)
        self.events = [line for line in lines if "kind" in line]
        self.processes = [line for line in lines if "process" in line]
        self.lost = sum(line["lost"] for line in lines if "lost" in line)

    def of(self, *kinds):
        return [event for event in self.events if event["kind"] in kinds]

    def marks(self):
        """The program's own marks: {name: value}."""
        return {e["name"]: e["a"] for e in self.of("mark") if not e["flags"] & (SOURCE | SETTING)}

    def notes(self, why_not=0, process=None):
        return {
            e["name"]
            for e in self.of("mark")
            if e["flags"] & SOURCE and e["a"] == why_not and process in (None, e["p"])
        }

    def between(self, begin, end=None):
        """The events after one mark of the program, up to the next or to the one named."""
        found, inside = [], False
        for event in self.events:
            ours = event["kind"] == "mark" and not event["flags"] & (SOURCE | SETTING)
            if inside and ours and end in (None, event["name"]):
                return found
            if inside:
                found.append(event)
            if ours and event["name"] == begin:
                inside = True
        return found


def interpreter():
    """What `TIDEMARK_TEST_PYTHON` is, or the reason why nothing can be tested with it."""
    # Importing it takes a second or two of every test.
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    try:
        subprocess.run([PYTHON, "-c", code], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return "%s has no torch: %s" % (PYTHON, str(error)[:200])
    return None


def environment(**changes):
    """Without what the tests or the machine would add; None takes a variable away."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TIDEMARK", "PYTHON"))}
    kept.update(PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
    kept.update(changes)
    return {k: v for k, v in kept.items() if v is not None}


def command_of(program, flags, arguments):
    """program: a file of programs/, or a list that is the whole command."""
    if isinstance(program, list):
        return program
    return [PYTHON] + list(flags) + [os.path.join(PROGRAMS, program)] + list(arguments)


def bare(program, *arguments, **options):
    env = environment(**options.get("env", {}))
    command = command_of(program, options.get("flags", ()), arguments)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    return Run(done.returncode, done.stdout, done.stderr)


def record(program, *arguments, **options):
    """The same under the dump recorder. env: PYTHONPATH is the helper's folder unless given."""
    changes = {"PYTHONPATH": HELPER}
    changes.update(options.get("env", {}))
    command = command_of(program, options.get("flags", ()), arguments)
    with tempfile.NamedTemporaryFile(suffix=".json") as dump:
        done = subprocess.run(
            [os.environ["TIDEMARK_DUMP"], os.environ["TIDEMARK_GUEST"], dump.name] + command,
            env=environment(**changes), capture_output=True, text=True, timeout=900,
        )
        with open(dump.name, errors="replace") as lines:
            read = [json.loads(line) for line in lines]
    return Run(done.returncode, done.stdout, done.stderr, read)


def token(event):
    """F forward, N without grad, L loss class, e not training, G grad(), and Z, B, O, S."""
    kind, flags = KINDS[event["size"]], event["b"]
    if kind == "B":
        return "B" if flags & 16 else "G"
    if kind != "F":
        return kind
    letter = "L" if flags & 4 else "F"
    return (letter if flags & 1 else "N") + ("" if flags & 2 or flags & 4 else "e")


def sequence(events):
    """The tree of marks as text: "Z F L B(F) O", "!" after what an exception left."""
    root, stack = [], []
    level = root
    for event in events:
        if event["kind"] == "enter":
            node = [token(event), [], ""]
            level.append(node)
            stack.append((event["size"], event["a"], level, node))
            level = node[1]
        elif event["kind"] == "exit":
            kind, identity, level, node = stack.pop()
            assert (kind, identity) == (event["size"], event["a"]), "marks do not nest"
            node[2] = "!" if event["flags"] & EXCEPTION else ""
    assert not stack, "a mark was never left"
    return text_of(root)


def text_of(nodes):
    words = []
    for letter, children, failed in nodes:
        inside = "(" + text_of(children) + ")" if children else ""
        words.append(letter + inside + failed)
    return " ".join(words)


def expect(got, wanted, what=""):
    if got != wanted:
        raise AssertionError("%s\n  got    %r\n  wanted %r" % (what, got, wanted))


def more(*cases):
    """Cases of the long form."""
    return cases if LONG else ()


def folder():
    return tempfile.mkdtemp(prefix="tidemark-torch-")


class Skipped(Exception):
    """Raised by a test that cannot run with this torch, with the reason."""


def main(*tests):
    """Runs the tests; 77 when there is nothing to test with, also when one of several tests has not:
    what may be skipped should have a file of its own."""
    why = interpreter()
    if why:
        print("skipped:", why)
        sys.exit(77)
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


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
