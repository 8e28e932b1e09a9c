"""run_examples.py TIDEMARK PROGRAMS WORK MAKE_SNAPSHOT [--rewrite] PAGE...: runs the examples of pages.

Each page has a folder of its own with the recordings that examples speak of (see `Fixtures`); its
commands run there in their order, with the PROGRAMS (with ':' between) in PATH. A command fails the test if its exit
status is not 0, or if it prints something else than the page shows. Nothing is shown: anything may
be printed. In what is shown a line "..." stands for any lines, and "..." within a line for any
letters, as tables have it that are cut for a terminal; times, pids, counts of events and names of
new recordings are not compared, nor how wide columns are. "help" as a page: the examples
of --help.

--rewrite puts what was printed into the pages, where no "..." stands.

"columns" as a page: the headings of every report's tables, and of their columns, stand in its
manual, or in that of tidemark, which has the common words.
"""
import atexit
import contextlib
import importlib.util
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import pages

HERE = os.path.dirname(os.path.abspath(__file__))

VARIES = [
    (r"tidemark\.\d{8}-\d{6}-\d+\.db", "tidemark.NEW.db"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", "DATE"),
    (r"\b\d[\d,.]* (ns|us|ms|s|min|h)\b", "TIME"),
    (r"\bpid \d+", "pid N"),
    (r"\bseq \d+", "seq N"),
    (r"\b[\d,]+ events", "N events"),
    (r"\(\d[\d.]* (KiB|MiB)\)", "(SIZE)"),
    (r"\s+", " "),
]

# Commands that not every machine has or allows, and a way to try them.
TOOLS = {"unshare": ["unshare", "-rmn", "true"], "sqlite3": ["sqlite3", "--version"]}


# Pages the first train.py of which is PyTorch's also where it is not the long form of the test; and
# what is run in the long form only, for it takes as long as all others of its page.
TORCH = ["record.md", "first-recording.md", "torchrun.md"]
LONG = os.environ.get("TIDEMARK_TEST_LONG")
LONG_ONLY = ("--vary B=1..4096", "--gpu all --vary B=1..512", "-v T=256,512")

# What reports are looked at for their headings; others with run.db alone.
SHOWN = {
    "info": ["run.db", "ranks.db", "oom.db"],
    "phases": ["run.db", "ranks.db", "shrink.db", "oom.db"],
    "peak": ["run.db", "ranks.db", "rnn.db", "shrink.db", "leaky.db"],
    "why": ["run.db 0..1", "rnn.db", "leaky.db", "ranks.db"],
    "frag": ["run.db", "shrink.db", "shrink.db --over-time", "oom.db --oom"],
    "ladder": ["run.db", "ranks.db", "rnn.db"],
    "leaks": ["leaky.db"],
    "timeline": ["run.db --format table"],
    "modules": ["model.db"],
    "show": ["run.db softmax", "model.db block:20"],
    "plan": ["--memory 4GiB --vary B=1..64 --vary T=10,50 -o GRID -- "
             "seq2seq --batch={B} --length={T}", "--gpu all -o EACH -- seq2seq"],
    "fit": ["run.db --table", "rnn.db --memory 700MiB", "rnn.db --memory 1GiB --reserve 1MiB"],
    "diff": ["before.db after.db", "rnn.db shrink.db"],
    "skew": ["uneven.db", "ranks.db fleet.db"],
    "check": ["run.db --max-peak 1G --max-growth 1 --no-oom --no-lost", "ranks.db --max-reserved 1"],
    "repair": ["run.db", "damaged.db"],
}


def headings(text):
    """Titles of tables and of their columns, as far as the layout tells: a title is the first line
    behind an empty one, columns have two blanks between them, and neither has digits."""
    found = set()
    for block in text.split("\n\n"):
        lines = [x.strip() for x in block.split("\n")]
        for line in lines[:3]:
            if not re.search(r"\d", line) and "  " in line:
                found.update(re.split(r" {2,}", line))
        if len(lines) > 1 and not re.search(r"\d|  |: |^-", lines[0]):
            found.add(lines[0])
    return {x for x in found if x and ".db" not in x}


def plain(line):
    for pattern, word in VARIES:
        line = re.sub(pattern, word, line)
    return line.strip()


class Cut(str):
    """A line that was cut: equal to each that has what stands around its "..."."""

    def __eq__(self, line):
        parts = self.split("...")
        return re.fullmatch(".*".join(map(re.escape, parts)), str(line)) is not None

    __hash__ = None


def matches(shown, printed):
    """Whether the lines printed are those shown, where "..." stands for any."""
    shown, printed = [plain(x) for x in shown], [plain(x) for x in printed]
    shown = [Cut(x) if "..." in x and x != "..." else x for x in shown]
    parts, current = [], []
    for line in shown:
        if line == "...":
            parts.append(current)
            current = []
        else:
            current.append(line)
    parts.append(current)
    if len(parts) == 1:
        return parts[0] == printed
    if printed[:len(parts[0])] != parts[0]:
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        while printed[at:at + len(part)] != part:
            at += 1
            if at > len(printed):
                return False
        at += len(part)
    last = parts[-1]
    return len(printed) - len(last) >= at and printed[len(printed) - len(last):] == last


class Fixtures:
    """What examples find in their folder, made once and copied for each page."""

    def __init__(self, tidemark, samples, work, make_snapshot):
        self.folder = os.path.join(work, "fixtures")
        self.bin = os.path.join(work, "bin")
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(os.path.join(self.folder, "ci"))
        os.makedirs(self.bin)
        self.link(tidemark, "tidemark")
        for program in samples.split(":"):
            self.link(program, os.path.basename(program))
        self.link(sys.executable, "python3")
        self.stand_in("torchrun", 'while [ "$1" != "${1#-}" ]; do shift 2; done\n'
                      "for rank in 0 1; do\n"
                      '    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 python3 "$@" &\n'
                      "done\nwait\n")
        self.stand_in("less", 'exec cat "$@"\n')  # not everywhere, and nobody to press keys
        self.environment = dict(os.environ, PATH=self.bin + ":" + os.environ["PATH"], TZ="UTC",
                                LC_ALL="C.UTF-8", PAGER="cat")
        for name in ["NO_COLOR", "COLUMNS", "TIDEMARK_SOCKET"]:
            self.environment.pop(name, None)
        shutil.copy(os.path.join(os.path.dirname(__file__), "train.py"), self.folder)
        self.make(make_snapshot)
        self.armed = subprocess.Popen(["tidemark", "record", "--armed", "--", "sleep", "100000"],
                                      env=self.environment, stderr=subprocess.DEVNULL)
        atexit.register(self.armed.kill)
        self.environment["PID"] = str(self.armed.pid)
        self.wait_for_armed()
        self.newest = self.start_newest()

    def start_newest(self):
        """A program that can be attached to; None where there is no CPython 3.14."""
        python = os.environ.get("TIDEMARK_PYTHON314") or shutil.which("python3.14")
        if not python:
            return None
        process = subprocess.Popen([python, "-c", "import time\nwhile True: time.sleep(0.01)"])
        atexit.register(process.kill)
        return str(process.pid)

    def wait_for_armed(self):
        """The command becomes the program."""
        while True:
            with open("/proc/%d/comm" % self.armed.pid) as name:
                if name.read().strip() == "sleep":
                    return
            time.sleep(0.01)

    def link(self, target, name):
        os.symlink(os.path.abspath(target), os.path.join(self.bin, name))

    def stand_in(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w") as out:
            out.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as out:
            out.write(text)

    def make(self, make_snapshot):
        lines = [
            "tidemark record -o run.db -- seq2seq",
            "tidemark record -o after.db -- seq2seq --batch=40",
            "cp run.db before.db && cp run.db good.db && cp run.db a.db && cp after.db b.db",
            "tidemark record -o rnn.db -- rnn_flatten",
            "tidemark record -o shrink.db -- shrink",
            "tidemark record -o oom.db -- shrink --limit=320MiB || true",
            "tidemark record -o leaky.db -- prog_leaky",
            "tidemark record -- prog_leaky",
            "head -c 300000 run.db >damaged.db",
            "tidemark record -o ranks.db -- sh -c 'RANK=0 seq2seq --steps=2; RANK=1 seq2seq'",
            "RANK=0 WORLD_SIZE=2 tidemark record -o run.0.db -- seq2seq --steps=2",
            "RANK=1 WORLD_SIZE=2 tidemark record -o run.1.db -- seq2seq --steps=2",
            "tidemark merge -o fleet.db run.0.db run.1.db",
            "tidemark record -o uneven.db -- sh -c 'for r in 0 1 2; do export RANK=$r WORLD_SIZE=3; "
            "seq2seq --steps=2 --batch=$((80 + r / 2 * 10)); done'",
            '"%s" snapshot.pickle 100000' % os.path.abspath(make_snapshot),
            'cp "%s" trace.json' % os.path.join(HERE, "../import/traces/torch-2.14.json"),
            "gzip -k trace.json",
            'cp "%s" memory.prof' % os.path.join(HERE, "../import/profiles/jax-0.10.2.prof"),
            'cp "%s" report.sqlite' % os.path.join(HERE, "../import/corpus_nsys/small"),
            "(echo Thread,Time,Action,Pointer,Size,Stream; "
            "echo 7,10:00:00.000001,allocate,0x100,512,0) >rmm.dev0.log",
        ]
        for line in lines:
            done = pages.run("sh", "-c", line, cwd=self.folder, env=self.environment,
                             stdin=subprocess.DEVNULL)
            if done.returncode:
                sys.exit("cannot make what the examples need: %s\n%s" % (line, done.stdout))
        self.make_model()
        # What `tidemark rehearse` takes for CUDA's build of PyTorch; the program is the C sample.
        self.cuda = os.path.join(os.path.dirname(self.folder), "cuda")
        os.makedirs(os.path.join(self.cuda, "torch", "lib"))
        for name, text in [("__init__.py", "raise ImportError\n"), ("lib/libtorch_cuda.so", "")]:
            with open(os.path.join(self.cuda, "torch", name), "w") as out:
                out.write(text)
        self.write("ci/limits.txt", "max-peak = 5GiB\nno-oom = yes\n")
        self.write("own.py", 'import tidemark\nwith tidemark.phase("augmentation"):\n    pass\n')
        self.write("question.sql", "SELECT process, device, allocated FROM peak;\n")

    def make_model(self):
        """A recording with modules, which take PyTorch: run.db with the facts of a made-up one."""
        path = os.path.join(self.folder, "model.db")
        shutil.copy(os.path.join(self.folder, "run.db"), path)
        facts = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli/modules/gpt.sql")
        with contextlib.closing(sqlite3.connect(path)) as made, open(facts) as sql:
            tables = made.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for table, in tables:
                made.execute("DELETE FROM " + table)
            made.executescript(sql.read())

    def copy(self, folder):
        shutil.copytree(self.folder, folder)
        shutil.copy(os.path.join(folder, "train.py"), os.path.join(folder, "ddp.py"))

    def environment_of(self, command):
        if "tidemark attach" in command:
            return dict(self.environment, PID=self.newest)
        if "tidemark rehearse" not in command:
            return self.environment
        return dict(self.environment, PYTHONPATH=self.cuda)

    def use_torch(self, wanted):
        """In what runs from now on of train.py."""
        self.environment["EXAMPLES_TORCH"] = "1" if wanted or LONG else ""


class Runner:
    def __init__(self, fixtures, work):
        self.fixtures, self.work = fixtures, work
        self.ran, self.compared, self.failed = 0, 0, 0

    def complain(self, where, command, why):
        self.failed += 1
        print("FAIL %s: %s\n%s" % (where, command, why))

    def lacks(self, command):
        """What the command needs and this machine does not have; "" = nothing."""
        for tool, words in TOOLS.items():
            if re.search(r"(^|[;&|] *)%s " % tool, command) and (
                    not shutil.which(words[0]) or pages.run(*words).returncode):
                return tool
        return ""

    def run(self, folder, where, example, rewrite):
        if any(x in example.command for x in LONG_ONLY) and not (LONG or rewrite):
            print("left to the long form: %s: %s" % (where, example.command))
            return None
        if "tidemark attach" in example.command and not self.fixtures.newest:
            print("skipped, no CPython 3.14 is here: %s: %s" % (where, example.command))
            return None
        tool = self.lacks(example.command)
        if tool:
            print("skipped, %s does not work here: %s: %s" % (tool, where, example.command))
            return None
        done = pages.run("bash", "-c", example.command, cwd=folder, stdin=subprocess.DEVNULL,
                         env=self.fixtures.environment_of(example.command))
        printed = done.stdout.rstrip("\n").split("\n")
        if done.returncode == 3 and "pip install 'tidemark[parquet]'" in done.stdout:
            print("skipped, packages for Parquet are not here: %s: %s" % (where, example.command))
            return None
        self.ran += 1
        if "train.py" in example.command:
            self.fixtures.use_torch(False)
        if done.returncode:
            self.complain(where, example.command, "exit %d\n%s" % (done.returncode, done.stdout))
        elif re.search(r"unknown (option|command)", done.stdout):
            self.complain(where, example.command, done.stdout)
        elif example.shown:
            self.compared += 1
            if not matches(example.shown, printed):
                if rewrite and not any("..." in x for x in example.shown):
                    return printed
                self.complain(where, example.command, "prints\n%s\nnot\n%s\n" % (
                    "\n".join(printed), "\n".join(example.shown)))
        return None

    def page(self, path, rewrite):
        folder = os.path.join(self.work, re.sub(r"[^a-z0-9]+", "_", path)[-40:])
        self.fixtures.copy(folder)
        with open(path) as page:
            text = page.read()
        lines = text.splitlines()
        shift = 0
        for example in pages.examples(text):
            new = self.run(folder, "%s:%d" % (path, example.line), example, rewrite)
            if new is not None:
                first = example.line + shift
                old = len(example.shown)
                lines[first:first + old] = [("    " + x).rstrip() for x in new]
                shift += len(new) - old
        if shift or rewrite:
            with open(path, "w") as page:
                page.write("\n".join(lines) + "\n")

    def columns(self, tidemark, docs):
        told = pages.Help(tidemark)
        folder = self.fixtures.folder
        for name in told.commands:
            if "--format" not in told.options[name] or name == "sql":
                continue
            words = ""
            for page in [name, "tidemark"]:
                path = os.path.join(docs, "manual", page + ".md")
                if os.path.exists(path):
                    with open(path) as text:
                        words += re.sub(r"\s+", " ", text.read()).lower()
            seen = set()
            for arguments in SHOWN.get(name, ["run.db"]):
                done = pages.run(tidemark, name, *arguments.split(), cwd=folder,
                                 env=self.fixtures.environment)
                seen |= headings(done.stdout)
            self.ran += 1
            if not seen:
                self.complain("columns", name, "no heading was found")
            for heading in sorted(seen):
                if heading.lower() not in words:
                    self.complain("columns", name, "its manual does not explain '%s'" % heading)

    def help(self, tidemark):
        told = pages.Help(tidemark)
        for name in told.commands:
            if not told.examples[name]:
                self.complain("help", name, "has no examples")
            folder = os.path.join(self.work, "help_" + name)
            self.fixtures.copy(folder)
            for ranked in ["run.db", "good.db", "a.db", "b.db"]:
                shutil.copy(os.path.join(folder, "ranks.db"), os.path.join(folder, ranked))
            for line in told.examples[name]:
                made = re.search(r" -o (\S+)", line)
                if made and os.path.exists(os.path.join(folder, made[1])):
                    os.remove(os.path.join(folder, made[1]))
                self.run(folder, "help of " + name, pages.Example(0, line), False)


def main():
    tidemark, samples, work, make_snapshot = sys.argv[1:5]
    rewrite = "--rewrite" in sys.argv[5:]
    paths = [x for x in sys.argv[5:] if x != "--rewrite"]
    fixtures = Fixtures(tidemark, samples, work, make_snapshot)
    if importlib.util.find_spec("torch") is None:  # to import it takes a second or two
        print("%s cannot import torch: train.py is the C sample instead" % sys.executable)
    runner = Runner(fixtures, work)
    for path in paths:
        fixtures.use_torch(os.path.basename(path) in TORCH)
        if path == "help":
            runner.help(tidemark)
        elif path == "columns":
            runner.columns(tidemark, os.path.join(os.path.dirname(__file__), "../../docs"))
        else:
            runner.page(path, rewrite)
    print("%d examples of %d pages ran, the output of %d compared, %d failed" %
          (runner.ran, len(paths), runner.compared, runner.failed))
    if not runner.ran:
        sys.exit("no example was found")
    sys.exit(1 if runner.failed else 0)


if __name__ == "__main__":
    main()
