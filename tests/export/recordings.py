"""The recordings on which other people's readers are tried: snapshots of real trainings, rows of the
tests, and whatever lies in a folder of the user's."""
import glob
import os
import sqlite3
import subprocess

FIXTURES = ("train", "frag", "torch", "limit", "gpu", "ranks", "twogpus")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def empty(folder):
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.remove(os.path.join(folder, old))


def make(tidemark, folder, snapshots, data="", make_fixture="", own=""):
    """Paths of recordings in the folder, which is emptied first, or in `own`."""
    empty(folder)
    for snapshot in sorted(glob.glob(os.path.join(snapshots, "*.pickle"))):
        path = os.path.join(folder, os.path.basename(snapshot) + ".db")
        run(tidemark, "import", snapshot, "-o", path)
        yield path
    for name in FIXTURES if make_fixture else ():
        path = os.path.join(folder, name + ".db")
        run(make_fixture, path, os.path.join(data, name + ".sql"))
        yield path
    yield from sorted(glob.glob(os.path.join(own, "*.db"))) if own else ()


def ask(path, sql):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def live_at_peak(path):
    """(process, device) to bytes and blocks that live at the peak."""
    rows = ask(path, "SELECT process, device, sum(size), count(*) FROM live_at_peak GROUP BY 1, 2")
    return {(process, device): (size, blocks) for process, device, size, blocks in rows}


def allocated(path):
    """Blocks and bytes of all that was ever allocated."""
    return ask(path, "SELECT coalesce(sum(blocks), 0), coalesce(sum(bytes), 0) FROM site_total")[0]


def export(tidemark, form, path, folder, *more):
    """The export's path: its name ends as each reader wants it."""
    ends = {"pprof": "pb.gz", "speedscope": "speedscope.json", "memory_viz": "pickle", "perfetto": "pftrace",
            "collapsed": "collapsed.txt"}
    made = os.path.join(folder, "export." + ends[form])
    if os.path.exists(made):
        os.remove(made)
    run(tidemark, "export", "--to", form, path, "-o", made, *more)
    return made
