"""A run of a command one of whose calls fails, and what has to be true of it."""
import os
import pty
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading

STATUS, STEP_BLOCKS = 9, 40  # of prog.c
PATIENCE_S = 600  # a command that takes longer hangs, on however busy a machine
HOME = "\033[H\033[J"  # before each picture of --follow


class Wrong(Exception):
    """What was found, in a sentence."""


def need(what, text):
    if not what:
        raise Wrong(text)


class Terminal:
    """The stdout of a command that draws; what it drew is read by a thread."""

    def __init__(self):
        self.mine, self.other = pty.openpty()
        self.bytes = b""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        try:
            while part := os.read(self.mine, 65536):
                self.bytes += part
        except OSError:
            pass  # nobody has the other end any more

    def text(self):
        os.close(self.other)
        self.reader.join()
        os.close(self.mine)
        return self.bytes.decode(errors="replace").replace("\r\n", "\n")


class Run:
    """A command with some of its calls failing, in an empty folder that goes away. `inject`: what
    stands in the environment for inject.h."""

    def __init__(self, arguments, inject=None, files=(), stdout=None, terminal=False):
        self.folder = tempfile.mkdtemp(prefix="inject-")
        for file in files:
            shutil.copy(file, self.folder)
        self.before = {name: self.read(name) for name in os.listdir(self.folder)}
        self.log = self.folder + ".log"
        environ = dict(os.environ, TMPDIR=self.folder, LC_ALL="C.UTF-8", TZ="UTC", COLUMNS="80",
                       LINES="24", TERM="xterm", INJECT_LOG=self.log, **(inject or {}))
        self.hung = False
        screen = Terminal() if terminal else None
        process = subprocess.Popen(arguments, cwd=self.folder, env=environ,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   stdout=screen.other if screen else stdout or subprocess.PIPE,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.hung = True
            os.killpg(process.pid, signal.SIGABRT)
            out, err = process.communicate()
        self.code = process.returncode
        self.out = screen.text() if screen else (out or b"").decode(errors="replace")
        self.err = err.decode(errors="replace")
        self.where = self.read_log()
        self.left = sorted(set(os.listdir(self.folder)) - set(self.before))

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def read_log(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log) as log:
            text = log.read().strip()
        os.unlink(self.log)
        return text

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- all of them ----

def judge_any(run):
    need(not run.hung, "it hangs")
    need(run.code >= 0, "it died of signal %d" % -run.code)
    need("Sanitizer" not in run.err, "a sanitizer complains")
    for line in run.err.splitlines():
        need(line.startswith(("tidemark: ", "  ")) or not line, "a message of somebody else")


def silenced(run):
    """What failed may have been the message itself."""
    return run.where.startswith("write ")


def judge_failed(run):
    judge_any(run)
    need(run.code in (3, 4), "exit status %d" % run.code)
    need(run.err or silenced(run), "it fails without a word")


def may_stay(run):
    """What could not be removed, because that failed, is there."""
    return run.where.startswith("unlink ")


def rows(db, sql):
    return db.execute(sql).fetchall()


def content(path):
    """All that a database says, but for when and how it was made."""
    db = sqlite3.connect(path)
    need(rows(db, "PRAGMA integrity_check") == [("ok",)], "the database is damaged")
    tables = [name for name, in rows(db, "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                         " AND name NOT LIKE 'sqlite%' ORDER BY name")]
    every = {name: rows(db, "SELECT * FROM %s" % name) for name in tables if name != "meta"}
    db.close()
    return every


# ---- recordings ----

class Recorded:
    """Sound, and a prefix of the truth; all of it unless somebody was told. Retention may have put
    rows into sums, none of them twice."""

    # Words after which blocks may be missing though it says that nothing was lost.
    EXCUSES = ("did not take part", "could not be recorded", "could not accept some connections",
               "memory ran out", "there would be more to say")

    def __init__(self, steps, secret=None, processes=1):
        self.truth = [0x10000000 + i * 0x1000 for i in range(steps * processes * STEP_BLOCKS)]
        self.processes = processes
        self.places = {address: i for i, address in enumerate(self.truth)}
        self.secret = secret

    def database(self, run):
        with sqlite3.connect("file:%s" % run.path("run.db"), uri=True) as db:
            need(rows(db, "PRAGMA integrity_check") == [("ok",)], "the database is damaged")
            have = [row[0] for row in rows(db, "SELECT address FROM allocation a JOIN heap h ON"
                                               " h.id = a.heap ORDER BY h.process, a.seq")]
            gone = rows(db, "SELECT coalesce(sum(blocks), 0) FROM site_sum")[0][0]
            lost = rows(db, "SELECT coalesce(sum(n), 0) FROM lost WHERE kind = 'block_alloc'")[0][0]
            meta = dict(rows(db, "SELECT key, value FROM meta"))
            other = rows(db, "SELECT count(*) FROM allocation WHERE size <> 1000")[0][0]
            dangling = rows(db, "SELECT count(*) FROM allocation WHERE heap NOT IN"
                                " (SELECT id FROM heap)")[0][0]
        db.close()
        need(other == 0, "blocks of another size")
        need(dangling == 0, "blocks of a heap that is not there")
        places = [self.places.get(address, -1) for address in have]
        need(-1 not in places and len(set(places)) == len(places), "blocks that never were")
        need(places == sorted(places), "blocks in another order")
        if not lost and not gone and self.processes == 1:
            need(have == self.truth[:len(have)], "blocks are missing in between")
        need(len(have) + gone + lost <= len(self.truth), "blocks are counted twice")
        if "nothing was lost" in run.err and not any(text in run.err for text in self.EXCUSES):
            need(len(have) + gone == len(self.truth), "nothing was lost, it says, but %d of %d "
                 "blocks" % (len(have) + gone, len(self.truth)))
            need(str(meta.get("finished")) == "1", "not finished, and nobody says so")

    def hidden(self, run):
        """Of a private recording: what a stranger should not read, in any of its files."""
        host = socket.gethostname()
        words = [self.secret, run.folder]
        if len(host) > 5:  # a shorter one may stand there by chance
            words.append(host)
        for name in run.left:
            file = run.read(name)
            for word in words:
                need(word.encode() not in file, "%s stands in %s" % (word, name))

    def __call__(self, run):
        judge_any(run)
        if "ran\n" not in run.out:
            need(run.code in (3, 4, 126, 127), "it did not run, and the exit status is %d" %
                 run.code)
            need(run.err or silenced(run), "it did not run, and nobody says why")
            need(not run.left or may_stay(run), "it did not run, and there is left %s" % run.left)
            return
        need(run.code == STATUS, "exit status %d, not that of the program" % run.code)
        need(run.err or silenced(run), "not a word")
        logs = {name for name in run.left if name.startswith("run.db-")}
        need(not logs or may_stay(run) or "-wal) stays beside it" in run.err or "out of memory" in
             run.err, "left beside it: %s" % sorted(logs))
        need(set(run.left) <= {"run.db"} | logs, "there is left %s" % run.left)
        if self.secret:
            self.hidden(run)
        if "run.db" in run.left:
            need("recorded into run.db" in run.err or "out of memory" in run.err or silenced(run),
                 "there is a file of which nobody speaks")
            self.database(run)
        else:
            need("no recording" in run.err or "out of memory" in run.err or
                 "all of it is lost" in run.err or silenced(run), "where is the recording?")


# ---- reports ----

def untouched(run):
    """The files that it was given."""
    for name, before in run.before.items():
        need(os.path.exists(run.path(name)) and run.read(name) == before, "%s was changed" % name)


class Report:
    """What it prints without a failure, or a word and nothing that looks complete."""

    def __init__(self, good):
        self.good = good
        self.files = {name: good.read(name) for name in good.left}

    def __call__(self, run):
        if run.code == self.good.code:
            judge_any(run)
            need(run.out == self.good.out, "the output is another, and the exit status is the same")
            for name, text in self.files.items():
                need(name in run.left and run.read(name) == text, "%s is another" % name)
        else:
            judge_failed(run)
            unwritten = any("cannot write %s: " % name in run.err for name in self.files)
            need(not run.out or "not complete: " in run.out or
                 (unwritten and run.out == self.good.out), "there is output, which looks complete")
            need(len(run.err.splitlines()) <= 3, "many words for one failure")
            need(not set(self.files) & set(run.left) or may_stay(run),
                 "there is left %s" % run.left)
        untouched(run)


class Written(Report):
    """A report that is a file: the same one, or none and nothing that was begun."""

    def __call__(self, run):
        super().__call__(run)
        if run.code != self.good.code:
            need(not run.left or may_stay(run), "there is left %s" % run.left)
            need(not run.out, "it names a file that is not there")


class Followed:
    """Tells what it would tell, or as much of it as it could, and why no more."""

    def __init__(self, good):
        self.good = good

    def __call__(self, run):
        if run.code == self.good.code:
            judge_any(run)
            need(run.out == self.good.out, "it told something else")
            return
        judge_failed(run)
        need(len(run.err.splitlines()) <= 3, "many words for one failure")
        told = run.out[:-len(HOME)] if run.out.endswith(HOME) else run.out
        need(self.good.out.startswith(told), "what it told is not how it begins")


def but_sqlite(text):
    """A report without what SQLite says of a damaged file: of several pages it names any."""
    return [line for line in text.splitlines() if "SQLite says" not in line]


def unread(run):
    return "read" in run.where.split(" ")[0]


class Made:
    """A command that makes a database: the same one, or none; what it was given is as it was. One
    that is whole may lie where the command says that it lies."""

    def __init__(self, good):
        self.good = good
        self.made = [name for name in good.left if name.endswith(".db")]
        self.wanted = {name: content(good.path(name)) for name in self.made}
        self.beside = {name for name in good.left if name.endswith("-shm")}

    def left(self, run):
        """What may not be there after a failure."""
        told = {name for name in run.left if name.endswith(".db") and
                ("it is in %s" % run.path(name) in run.err or
                 "%s was written all the same" % name in run.err)}
        for name in told:
            need(content(run.path(name)) in self.wanted.values(), "%s is another" % name)
        return set(run.left) - told - self.beside

    def __call__(self, run):
        if run.code == self.good.code:
            judge_any(run)
            # A page that SQLite could not read is one that it calls damaged.
            need(but_sqlite(run.out) == but_sqlite(self.good.out) or unread(run),
                 "the output is another, and the exit status is the same")
            need(run.left == self.good.left or may_stay(run), "there is left %s" % run.left)
            for name in self.made:
                need(content(run.path(name)) == self.wanted[name], "%s is another" % name)
        else:
            judge_failed(run)
            need(not self.left(run) or may_stay(run), "there is left %s" % run.left)
            need(not run.out, "there is output")
            need(len(run.err.splitlines()) <= 3, "many words for one failure")
        untouched(run)


def judge_unwritten(run, what):
    """stdout is `what`, full or closed."""
    judge_any(run)
    need(run.code in (1, 4), "exit status %d" % run.code)
    told = "cannot write to stdout: No space left on device" in run.err
    need(told == (what == "full"), "the message")
