"""The commands that are tried: with which files, and by what they are judged."""
import gzip
import os
import shutil
import sqlite3
import subprocess
import sys

from judge import Followed, Made, Recorded, Report, Run, Written, judge_any, need
from plans import EXPORT, IMPORT, RECORD, REPAIR, REPORT, SQL, STORE

FORMS = ("table", "csv", "json")
FIXTURES = ("train", "frag", "leaks", "before", "after", "gpu", "ranks", "pools", "stopped",
            "../cli/fit/pressed", "limit")
CROWD = 12, 36  # steps, processes: those that ended give up what they can, and it is enough
NAME = "/secret/place/trained.py"  # of a phase; what is private ends before the last part


class Scene:
    """`steady`: each run makes the same calls in the same order. `large`: far more than others.
    `judge`: made by prepare()."""

    def __init__(self, name, command, plans, make_judge, files=(), steady=True, terminal=False,
                 inject=None, good=None, large=False):
        self.name, self.command, self.plans = name, command, plans
        self.files, self.steady, self.terminal = list(files), steady, terminal
        self.large = large
        self.inject = inject or {}
        self.make_judge, self.check_good, self.judge = make_judge, good, None

    def run(self, inject):
        return Run(self.command, dict(self.inject, **inject), self.files, terminal=self.terminal)

    def prepare(self):
        """Without a failure it has to go well."""
        good = self.run({})
        try:
            judge_any(good)
            if self.check_good:
                self.check_good(good)
            self.judge = self.make_judge(good)
            self.judge(good)
        except Exception as problem:
            raise SystemExit("%s: without a failure: %s\n%s%s" % (self.name, problem, good.out,
                                                                  good.err))
        finally:
            good.close()


# ---- recordings ----

def recorded(run):
    need("ran\n" in run.out and "nothing was lost" in run.err, "nothing was recorded")


def thinned(run):
    recorded(run)
    db = sqlite3.connect(run.path("run.db"))
    gone = db.execute("SELECT coalesce(sum(n), 0) FROM thinned").fetchone()[0]
    db.close()
    need(gone > 0, "nothing was thinned out")


def record_scene(options, name, steps, more, good=recorded, program=(), secret=None, processes=1):
    command = [options.inject, "record", "-o", "run.db", *more, "--", options.prog, str(steps),
               *program]
    judge, large = Recorded(steps, secret, processes), "--max-size" in more
    plans = RECORD
    if large and options.few:
        plans = STORE if processes == 1 else SQL
    return Scene(name, command, plans, lambda _: judge, steady=False, good=good, large=large)


def named(run):
    recorded(run)
    db = sqlite3.connect(run.path("run.db"))
    names = {name for name, in db.execute("SELECT name FROM phase")}
    db.close()
    need("trained.py" in names, "no phase with the name of the file")


def record_scenes(options, what):
    """Of the large ones only the sites are tried that those before have not."""
    if what == "record":
        return [record_scene(options, what, 2, [])]
    if what == "private":
        return [record_scene(options, what, 2, ["--private"], named, [NAME], "secret")]
    keep = record_scene(options, "keep", 40, ["--keep", "steps=3"], thinned)
    if what == "keep":
        return [keep]
    limit = ["--max-size", "1MiB"]
    steps, processes = CROWD
    return [keep, record_scene(options, what, options.steps, limit, thinned),
            record_scene(options, "crowd", steps, limit, thinned, ["more", str(processes)],
                         processes=processes)]


# ---- databases to read ----

def fixtures(options, folder):
    made = {}
    for path in FIXTURES:
        name = os.path.basename(path) + ".db"
        made[name] = os.path.join(folder, name)
        subprocess.run([options.make_fixture, made[name],
                        os.path.join(options.data, path + ".sql")], check=True)
    return made


def damage(sound, path, *tables):
    """The first page of each table becomes bytes that mean nothing; `sound` has the same pages."""
    db = sqlite3.connect(sound)
    size = db.execute("PRAGMA page_size").fetchone()[0]
    with open(path, "r+b") as file:
        for table in tables:
            page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?",
                              (table,)).fetchone()[0]
            file.seek((page - 1) * size)
            file.write(b"\xa5" * size)
    db.close()


def interrupted(path, folder):
    """A recording whose recorder was killed: the last commit is in the log only. The log's path."""
    source = os.path.join(folder, "source.db")
    shutil.copy(path, source)
    db = sqlite3.connect(source)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("UPDATE phase SET name = name || ' again' WHERE step = 1")
    db.commit()
    for end in ("", "-wal"):
        shutil.copy(source + end, os.path.join(folder, "logged.db" + end))
    db.close()
    return os.path.join(folder, "logged.db")


# What a recorder commits in two rounds, of a recording that is there as full.db.
HELD_BACK = """
UPDATE meta SET value = 0 WHERE key = 'finished';
INSERT OR REPLACE INTO meta VALUES('recorder_pid', 1), ('host', 'elsewhere');
DELETE FROM phase WHERE step = 1;
DELETE FROM phase_device WHERE phase NOT IN (SELECT id FROM phase);
DELETE FROM curve WHERE bucket >
  (SELECT max(c.bucket) / 2 FROM curve c WHERE c.heap = curve.heap AND c.level = curve.level
   AND c.quantity = curve.quantity);
"""
ROUNDS = """ATTACH 'full.db' AS full;
INSERT OR IGNORE INTO phase SELECT * FROM full.phase WHERE id < 18;
INSERT OR IGNORE INTO phase_device SELECT * FROM full.phase_device WHERE phase < 18;
--
INSERT OR IGNORE INTO phase SELECT * FROM full.phase;
INSERT OR IGNORE INTO phase_device SELECT * FROM full.phase_device;
INSERT OR IGNORE INTO curve SELECT * FROM full.curve;
--
UPDATE meta SET value = 1 WHERE key = 'finished';
--
"""


def growing(path, folder):
    """live.db, not finished; full.db, which it becomes; and the rounds in which it does."""
    live, full, rounds = (os.path.join(folder, name) for name in ("live.db", "full.db", "rounds"))
    shutil.copy(path, live)
    shutil.copy(path, full)
    db = sqlite3.connect(live)
    db.executescript(HELD_BACK)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    with open(rounds, "w") as file:
        file.write(ROUNDS)
    return [live, full, rounds]


# ---- reports ----

# Each command, and forms of it that do something else: the first word names it.
REPORTS = [
    ("peak", "train.db"), ("peak", "frag.db"), ("peak", "gpu.db"), ("peak", "ranks.db"), ("peak",),
    ("phases", "train.db"), ("phases", "train.db", "--all"), ("phases", "ranks.db"),
    ("why", "train.db"), ("why", "train.db", "0/forward..1/backward"),
    ("frag", "frag.db"), ("frag", "pools.db", "--over-time"), ("frag", "limit.db", "--oom"),
    ("leaks", "leaks.db"),
    ("timeline", "train.db"), ("timeline", "train.db", "--plot"),
    ("timeline", "train.db", "--plot", "--bytes-by", "category", "--by", "events"),
    ("timeline", "train.db", "--bytes-by", "category"),
    ("ladder", "train.db"), ("ladder", "gpu.db"),
    ("fit", "train.db"), ("fit", "pressed.db", "--table", "--memory", "36MiB"),
    ("diff", "before.db", "after.db"), ("diff", "before.db", "after.db", "--all"),
    ("info", "train.db"), ("info", "gpu.db"),
    ("check", "train.db", "--max-peak", "1GiB"),
    ("check", "after.db", "--limits", "limits", "--baseline", "before.db", "--junit", "out.xml"),
    ("sql", "train.db", "SELECT * FROM allocation"), ("sql", "train.db", "--schema"),
]
LIMITS = "max-peak = 1GiB\nmax-growth = 0\nmax-increase = 5%\n"
UNFORMED = ("check",)


def fine(run):
    need(run.code in (0, 1) and run.out, "exit status %d" % run.code)


def report_scenes(options, folder):
    files = fixtures(options, folder)
    files["limits"] = os.path.join(folder, "limits")
    with open(files["limits"], "w") as file:
        file.write(LIMITS)
    newest = os.path.join(folder, "tidemark.20261120-101010-1.db")
    shutil.copy(files["train.db"], newest)
    scenes, named_before = [], set()
    for number, words in enumerate(REPORTS):
        given = [files[word] for word in words if word in files] or [newest]
        forms = (None,) if words[0] in UNFORMED or "--schema" in words else FORMS
        # The quick test takes one form of each command, in turn.
        if words[0] in named_before and not options.sites:
            continue
        for form in forms if options.sites else (forms[number % len(forms)],):
            more = ["--format", form] if form else []
            scenes.append(Scene(" ".join([*words, *more]), [options.inject, *words, *more], REPORT,
                                Report, given, good=fine))
            named_before.add(words[0])
    return scenes


def follow_scenes(options, folder):
    files = growing(fixtures(options, folder)["train.db"], folder)
    scenes = []
    forms = [(("phases", "-f", "csv"), False), (("timeline", "-f", "json"), False),
             (("timeline",), True), (("phases", "-f", "json"), False),
             (("timeline", "-f", "csv"), False), (("phases",), True)]
    for words, terminal in forms[:3] if options.few else forms:
        command = [options.inject, words[0], "live.db", "--follow", *words[1:]]
        scenes.append(Scene(" ".join(command[1:]) + (" on a terminal" if terminal else ""), command,
                            REPORT, Followed, files, terminal=terminal, good=fine,
                            inject={"INJECT_ROUNDS": "rounds"}))
    return scenes


# ---- files for others ----

EXPORTS = [("html", "train.db"), ("html", "before.db", "after.db")] + [
    ("export", "frag.db", "--to", form)
    for form in ("memory_viz", "perfetto", "chrome", "pprof", "speedscope", "collapsed", "csv")]


def export_scenes(options, folder):
    files = fixtures(options, folder)
    return [Scene(" ".join(words), [options.inject, *words, "-o", "made"], EXPORT, Written,
                  [files[word] for word in words if word in files])
            for words in EXPORTS]


# ---- commands that make a database ----

def other_imports(options, folder):
    """A file of each other kind, one of them packed, and a snapshot whose events have texts."""
    beside = os.path.join(options.data, "..", "import")
    export, packed = (os.path.join(folder, name) for name in ("export.sqlite", "trace.json.gz"))
    subprocess.run([sys.executable, "-B", os.path.join(beside, "nsys_model.py"), export],
                   check=True, stdout=subprocess.DEVNULL)
    trace = os.path.join(beside, "traces", "torch-2.6.json")
    with open(trace, "rb") as file, gzip.open(packed, "wb") as to:
        to.write(file.read())
    return [os.path.join(beside, "logs", "rmm-26.10.dev0.log"), trace, packed, export,
            os.path.join(beside, "profiles", "jax-0.10.2.prof"),
            os.path.join(beside, "corpus", "c359d57fecd0")]


def import_scenes(options, folder):
    snapshot = os.path.join(folder, "snapshot.pickle")
    make = os.path.join(os.path.dirname(options.make_fixture), "..", "import", "make_snapshot")
    subprocess.run([make, snapshot, "8000"], check=True, stdout=subprocess.DEVNULL)
    command = [options.inject, "import", "snapshot.pickle", "-o", "run.db"]
    scenes = [Scene("import", command, IMPORT, Made, [snapshot]),
              Scene("import --all-frames", command + ["--all-frames"], IMPORT, Made, [snapshot])]
    for path in other_imports(options, folder):
        name = os.path.basename(path)
        command = [options.inject, "import", name, "-o", "run.db"]
        scenes.append(Scene("import " + name, command, IMPORT, Made, [path]))
    return scenes


def repair_scenes(options, folder):
    files = fixtures(options, folder)
    damaged, logged = os.path.join(folder, "damaged.db"), interrupted(files["train.db"], folder)
    shutil.copy(files["train.db"], damaged)
    damage(files["train.db"], damaged, "phase_device", "sample")
    damage(files["train.db"], logged, "phase_device")
    cases = [(["train.db", "-o", "copy.db", "-f", "csv"], [files["train.db"]]),
             (["damaged.db"], [damaged]), (["logged.db"], [logged, logged + "-wal"]),
             (["damaged.db", "--check"], [damaged])]
    return [Scene("repair " + " ".join(words), [options.inject, "repair", *words], REPAIR, Made,
                  given)
            for words, given in cases]
