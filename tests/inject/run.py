"""run.py INJECT MAKE_FIXTURE PROG DATA [--guest GUEST] WHAT [--all N] [--only WORD] [--first N] [--jobs N]

Runs a command again and again; each time one call of it fails, or it and all behind it, until a run
in which so many calls are not made. What has to be true of every run is in judge_record and its
kind. Without --all the first 10 calls are tried one by one, and then ever fewer; with it the first
500, and then each Nth (1: all). --only: the plans with that word; --first: from that call on. WHAT: record, keep,
report, import, output.
"""
import argparse
import concurrent.futures
import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

from plans import IMPORT, RECORD, REPORT

STATUS, BLOCKS, STEP_BLOCKS = 9, 20, 40
PATIENCE_S = 60  # a command that takes longer hangs
FIRST, GROWTH = 10, 1.7  # without --all: one by one so far, then so many times further
FIRST_OF_ALL = 500  # with --all N: one by one so far, then each Nth


class Wrong(Exception):
    """What was found, in a sentence."""


def need(what, text):
    if not what:
        raise Wrong(text)


class Run:
    """A command with one of its calls failing, in an empty folder that goes away."""

    def __init__(self, arguments, plan=None, at=0, files=(), stdout=None):
        self.folder = tempfile.mkdtemp(prefix="inject-")
        for file in files:
            shutil.copy(file, self.folder)
        self.before = set(os.listdir(self.folder))
        self.log = tempfile.mktemp(prefix="inject-log-")
        environ = dict(os.environ, TMPDIR=self.folder, LC_ALL="C", TZ="UTC")
        if plan:
            environ.update(INJECT_CALL=plan.calls, INJECT_AT=str(at), INJECT_FOR=str(plan.run),
                           INJECT_CODE=str(plan.code), INJECT_LOG=self.log)
        self.hung = False
        process = subprocess.Popen(arguments, cwd=self.folder, env=environ, stdin=subprocess.DEVNULL,
                                   stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.hung = True
            os.killpg(process.pid, signal.SIGABRT)
            out, err = process.communicate()
        self.code = process.returncode
        self.out = (out or b"").decode(errors="replace")
        self.err = err.decode(errors="replace")
        self.where = ""
        if os.path.exists(self.log):
            with open(self.log) as log:
                self.where = log.read().strip()
            os.unlink(self.log)
        self.left = sorted(set(os.listdir(self.folder)) - self.before)

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- what has to be true ----

def judge_any(run):
    need(not run.hung, "it hangs")
    need(run.code >= 0, "it died of signal %d" % -run.code)
    need("Sanitizer" not in run.err, "a sanitizer complains")
    for line in run.err.splitlines():
        need(line.startswith(("tidemark: ", "  ")) or not line, "a message of somebody else")


def judge_failed(run):
    judge_any(run)
    need(run.code in (3, 4), "exit status %d" % run.code)
    need(run.err, "it fails without a word")


def may_stay(run):
    """What could not be removed, because that failed, is there."""
    return run.where.startswith("unlink ")


def rows(db, sql):
    return db.execute(sql).fetchall()


def judge_database(path, steps, run):
    """Sound, and a prefix of the truth; all of it unless somebody was told. Retention may have put
    rows into sums, none of them twice."""
    with sqlite3.connect("file:%s" % path, uri=True) as db:
        need(rows(db, "PRAGMA integrity_check") == [("ok",)], "the database is damaged")
        have = [row[0] for row in rows(db, "SELECT address FROM allocation ORDER BY seq")]
        gone = rows(db, "SELECT coalesce(sum(blocks), 0) FROM site_sum")[0][0]
        lost = rows(db, "SELECT coalesce(sum(n), 0) FROM lost WHERE kind = 'block_alloc'")[0][0]
        meta = dict(rows(db, "SELECT key, value FROM meta"))
        other = rows(db, "SELECT count(*) FROM allocation WHERE size <> 1000")[0][0]
        dangling = rows(db, "SELECT count(*) FROM allocation WHERE heap NOT IN"
                            " (SELECT id FROM heap)")[0][0]
    db.close()
    truth = [0x10000000 + i * 0x1000 for i in range(steps * STEP_BLOCKS)]
    need(other == 0, "blocks of another size")
    need(dangling == 0, "blocks of a heap that is not there")
    need(len(set(have)) == len(have) and set(have) <= set(truth), "blocks that never were")
    need(have == sorted(have), "blocks in another order")
    if not lost and not gone:
        need(have == truth[:len(have)], "blocks are missing in between")
    need(len(have) + gone + lost <= len(truth), "blocks are counted twice")
    excuses = ("did not take part", "could not be recorded", "could not always be heard",
               "memory ran out", "there would be more to say")
    if "nothing was lost" in run.err and not any(text in run.err for text in excuses):
        need(len(have) + gone == len(truth),
             "nothing was lost, it says, but %d of %d blocks" % (len(have) + gone, len(truth)))
        need(str(meta.get("finished")) == "1", "not finished, and nobody says so")


def judge_record(run, steps):
    judge_any(run)
    if "ran\n" not in run.out:
        need(run.code in (3, 4, 126, 127), "it did not run, and the exit status is %d" % run.code)
        need(run.err, "it did not run, and nobody says why")
        need(not run.left or may_stay(run), "it did not run, and there is left %s" % run.left)
        return
    need(run.code == STATUS, "exit status %d, not that of the program" % run.code)
    need(run.err, "not a word")
    logs = {name for name in run.left if name.startswith("run.db-")}
    need(not logs or may_stay(run) or "-wal) stays beside it" in run.err or "out of memory" in
         run.err, "left beside it: %s" % sorted(logs))
    need(set(run.left) <= {"run.db"} | logs, "there is left %s" % run.left)
    if "run.db" in run.left:
        need("recorded into run.db" in run.err or "out of memory" in run.err, "there is a file of which nobody speaks")
        judge_database(run.path("run.db"), steps, run)
    else:
        need("no recording" in run.err or "out of memory" in run.err or "all of it is lost" in run.err, "where is the recording?")


def judge_report(run, good):
    if run.code == good.code:
        judge_any(run)
        need(run.out == good.out, "the output is another, and the exit status is 0")
    else:
        judge_failed(run)
        need(not run.out or "not complete: " in run.out, "there is output, which looks complete")
        need(len(run.err.splitlines()) <= 3, "many words for one failure")


def content(path):
    """All that a database says, but for when and how it was made."""
    db = sqlite3.connect(path)
    need(rows(db, "PRAGMA integrity_check") == [("ok",)], "the database is damaged")
    tables = [name for name, in rows(db, "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                         " AND name NOT LIKE 'sqlite%' ORDER BY name")]
    every = {name: rows(db, "SELECT * FROM %s" % name) for name in tables if name != "meta"}
    db.close()
    return every


def judge_import(run, wanted):
    if run.code == 0:
        judge_any(run)
        need(run.left == ["run.db"] or may_stay(run), "there is left %s" % run.left)
        need(content(run.path("run.db")) == wanted, "the database is another")
    else:
        judge_failed(run)
        need(not run.left or may_stay(run), "there is left %s" % run.left)
        need(not run.out, "there is output")


# ---- the loop ----

def numbers(every, first):
    at = first
    while True:
        yield at
        if every:
            at += 1 if at < FIRST_OF_ALL else every
        else:
            at = at + 1 if at < FIRST else int(at * GROWTH)


class Driver:
    def __init__(self, options):
        self.options = options
        self.runs, self.wrong = 0, 0

    def one(self, name, arguments, plan, at, judge, files):
        run = Run(arguments, plan, at, files)
        try:
            judge(run)
            found = None
        except (Wrong, sqlite3.Error) as problem:
            found = "FAIL %s: %s, call %d (%s) of %s\n%s" % (
                name, problem, at, run.where, plan,
                "".join("    %s\n" % line for line in run.err.splitlines()[:12]))
        reached = bool(run.where)
        run.close()
        return reached, found

    def loop(self, name, arguments, plan, judge, files=()):
        """All n of a plan; those of one batch side by side."""
        if self.options.only and self.options.only not in "%s %s" % (name, plan):
            return
        at = numbers(self.options.all, self.options.first)
        reached = tried = 0
        more = True
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            while more:
                batch = [next(at) for _ in range(self.options.jobs * 2)]
                for was, found in pool.map(lambda n: self.one(name, arguments, plan, n, judge,
                                                              files), batch):
                    tried += 1
                    reached += was
                    more = more and was
                    if found:
                        self.wrong += 1
                        print(found, flush=True)
        self.runs += tried
        if self.options.all:
            print("%s: %s: %d calls" % (name, plan, reached), flush=True)

    def record(self, steps, more):
        command = [self.options.inject, "record", "-o", "run.db", *more, "--",
                   self.options.prog, str(steps)]
        good = Run(command)
        judge_record(good, steps)
        need("ran\n" in good.out and "nothing was lost" in good.err, "nothing was recorded\n" +
             good.err)
        good.close()
        for plan in RECORD:
            self.loop("record", command, plan, lambda run: judge_record(run, steps))

    def fixtures(self, folder):
        made = []
        for name in ("train", "frag", "leaks", "before", "after"):
            made.append(os.path.join(folder, name + ".db"))
            subprocess.run([self.options.make_fixture, made[-1],
                            os.path.join(self.options.data, name + ".sql")], check=True)
        return made

    def report(self):
        reports = [("peak", "train"), ("peak", "frag"), ("phases", "train"), ("why", "train"),
                   ("frag", "frag"), ("leaks", "leaks"), ("timeline", "train"), ("ladder", "train"), ("fit", "train"),
                   ("diff", "before", "after"), ("check", "train"), ("info", "train"),
                   ("sql", "train")]
        with tempfile.TemporaryDirectory() as folder:
            files = self.fixtures(folder)
            for number, (name, *bases) in enumerate(reports):
                form = ("table", "csv", "json")[number % 3]
                command = [self.options.inject, name, *(base + ".db" for base in bases)]
                command += ["SELECT * FROM allocation"] if name == "sql" else []
                command += ["--max-peak", "1GiB"] if name == "check" else []
                command += ["--format", form] if name not in ("check",) else []
                good = Run(command, files=files)
                need(good.code in (0, 1) and good.out, "%s: %d %s" % (name, good.code, good.err))
                good.close()
                for plan in REPORT:
                    self.loop(name, command, plan, lambda run, good=good: judge_report(run, good),
                              [os.path.join(folder, base + ".db") for base in bases])

    def import_(self):
        with tempfile.TemporaryDirectory() as folder:
            snapshot = os.path.join(folder, "snapshot.pickle")
            make = os.path.join(os.path.dirname(self.options.make_fixture), "..", "import",
                                "make_snapshot")
            subprocess.run([make, snapshot, "8000"], check=True, stdout=subprocess.DEVNULL)
            command = [self.options.inject, "import", "snapshot.pickle", "-o", "run.db"]
            good = Run(command, files=[snapshot])
            need(good.code == 0, good.err)
            wanted = content(good.path("run.db"))
            good.close()
            for plan in IMPORT:
                self.loop("import", command, plan, lambda run: judge_import(run, wanted),
                          [snapshot])

    def output(self):
        """A full disk and a closed pipe as stdout."""
        reports = ["peak", "phases", "why", "ladder", "leaks", "frag", "fit", "info", "diff", "sql"]
        with tempfile.TemporaryDirectory() as folder:
            files = self.fixtures(folder)
            commands = [[name, "train.db", *(["after.db"] if name == "diff" else []),
                         *(["SELECT * FROM allocation"] if name == "sql" else []), "-f", form]
                        for name in reports for form in ("table", "csv", "json")]
            commands += [["--help"], ["--version"], ["peak", "--help"],
                         ["check", "train.db", "--max-peak", "1GiB"]]
            for command in commands:
                self.one_output(command, files)

    def one_output(self, command, files):
        name = " ".join(command)
        if self.options.only and self.options.only not in name:
            return
        for what in ("full", "closed"):
            if what == "full":
                end = os.open("/dev/full", os.O_WRONLY)
            else:
                reader, end = os.pipe()
                os.close(reader)
            run = Run([self.options.inject, *command], files=files, stdout=end)
            os.close(end)
            self.runs += 1
            try:
                judge_any(run)
                need(run.code in (1, 4), "exit status %d" % run.code)
                told = "cannot write to stdout: No space left on device" in run.err
                need(told == (what == "full"), "the message")
            except Wrong as problem:
                self.wrong += 1
                print("FAIL %s: stdout is %s: %s\n%s" % (name, what, problem, run.err), flush=True)
            run.close()


def main():
    parser = argparse.ArgumentParser()
    for name in ("inject", "make_fixture", "prog", "data", "what"):
        parser.add_argument(name)
    parser.add_argument("--guest")
    parser.add_argument("--all", type=int)
    parser.add_argument("--only")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.what in ("record", "keep"):
        if not options.guest:
            print("skipped: there is no guest in this build")
            sys.exit(77)
        os.environ["TIDEMARK_GUEST"] = options.guest
    driver = Driver(options)
    if options.what == "record":
        driver.record(2, [])
    elif options.what == "keep":
        driver.record(40, ["--keep", "steps=3"])
    elif options.what == "report":
        driver.report()
    elif options.what == "import":
        driver.import_()
    else:
        driver.output()
    print("%d runs, %d wrong" % (driver.runs, driver.wrong))
    sys.exit(1 if driver.wrong else 0)


main()
