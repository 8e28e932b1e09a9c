"""One recording of several ranks becomes one for each rank, as if each had been recorded on a node of
its own: processes, heaps and phases are numbered anew, the clock begins elsewhere and runs faster or
slower, and the calendar is wrong by some tenths of a second. The truth stays with who asks.

    split.py WHOLE.db FOLDER [SEED]
"""
import os
import random
import shutil
import sqlite3
import sys

TIMES = {  # columns of times; "life" is a duration from the column before it
    "process": ("start_ns", "end_ns"), "phase": ("begin_ns", "end_ns"),
    "phase_device": ("peak_ns",), "segment": ("alloc_ns",), "mapping": ("at_ns",),
    "idle": ("at_ns",), "mark": ("at_ns",), "oom": ("at_ns",), "sample": ("at_ns",),
    "anomaly": ("at_ns",), "torn": ("at_ns",), "lost": ("first_ns", "last_ns"),
    "clock": ("run_ns",), "gap": ("begin_ns", "end_ns"), "activity": ("begin_ns", "end_ns"),
}


class Clock:
    """A time of the whole run is `offset + (1 + drift) * time` on this clock."""

    def __init__(self, offset, drift):
        self.offset, self.drift = offset, drift

    def false(self, ns):
        return None if ns is None else self.offset + ns + round(self.drift * ns)

    def true(self, ns):
        return (ns - self.offset) / (1 + self.drift)


def keep_process(db, process):
    heaps = "(SELECT id FROM heap WHERE process = %d)" % process
    phases = "(SELECT id FROM phase WHERE process = %d)" % process
    blocks = "(SELECT seq FROM allocation WHERE heap IN %s)" % heaps
    db.execute("DELETE FROM phase_device WHERE phase NOT IN " + phases)
    for table in ("allocation", "segment", "mapping", "site_sum"):
        db.execute("DELETE FROM %s WHERE heap NOT IN %s" % (table, heaps))
    for table in ("allocation_phase", "idle"):
        db.execute("DELETE FROM %s WHERE allocation NOT IN %s" % (table, blocks))
    for table in ("stretch", "mark", "oom", "sample", "setting", "anomaly", "lost", "torn", "thinned",
                  "phase_sum", "gap", "activity", "driver_memory", "driver_mapping", "overhead",
                  "heap", "phase"):
        db.execute("DELETE FROM %s WHERE process IS NOT %d" % (table, process))
    db.execute("DELETE FROM process WHERE id <> ?", (process,))
    db.execute("DELETE FROM curve")
    db.execute("DELETE FROM keyframe")


def number_anew(db, table, users):
    """Ids 1, 2, 3, ... in the place of those of the whole run."""
    ids = [row[0] for row in db.execute("SELECT id FROM %s ORDER BY id" % table)]
    for new, old in enumerate(ids, 1):
        if new != old:
            db.execute("UPDATE %s SET id = ? WHERE id = ?" % table, (new, old))
            for user, column in users:
                db.execute("UPDATE %s SET %s = ? WHERE %s = ?" % (user, column, column), (new, old))


def falsify(db, clock, calendar_ns, pid):
    db.create_function("false_ns", 1, clock.false)
    db.execute("UPDATE allocation SET life_ns = false_ns(alloc_ns + life_ns) - false_ns(alloc_ns)"
               " WHERE free_seq >= 0")
    db.execute("UPDATE allocation SET alloc_ns = false_ns(alloc_ns)")
    for table, columns in TIMES.items():
        for column in columns:
            db.execute("UPDATE %s SET %s = false_ns(%s)" % (table, column, column))
    db.execute("UPDATE clock SET monotonic_ns = monotonic_ns + ?, real_ns = real_ns + ?",
               (pid * 1000000007, calendar_ns))
    db.execute("UPDATE meta SET value = value + ? WHERE key IN ('start_monotonic_ns')", (pid,))
    db.execute("UPDATE meta SET value = value + ? WHERE key = 'recorder_pid'", (pid,))
    db.execute("UPDATE meta SET value = false_ns(value) WHERE key = 'run_ns'")
    for table in ("meta", "process"):
        extra = " WHERE key = 'host'" if table == "meta" else ""
        column = "value" if table == "meta" else "host"
        db.execute("UPDATE %s SET %s = ?%s" % (table, column, extra), ("node%d" % pid,))


def split(whole, folder, seed=1):
    """[(path, process in the whole recording, clock)], by rank."""
    dice = random.Random(seed)
    asking = sqlite3.connect(whole)
    ranks = asking.execute("SELECT id, rank FROM process WHERE rank IS NOT NULL AND events > 0"
                           " ORDER BY rank").fetchall()
    asking.close()
    parts = []
    for process, rank in ranks:
        path = os.path.join(folder, "rank%d.db" % rank)
        clock = Clock(dice.randrange(0, 5 * 10**9), dice.choice((-1, 1)) * dice.uniform(30e-6, 50e-6))
        shutil.copyfile(whole, path)
        db = sqlite3.connect(path)
        keep_process(db, process)
        falsify(db, clock, dice.randrange(-300, 300) * 10**6, rank + 1)
        number_anew(db, "heap", (("allocation", "heap"), ("segment", "heap"), ("mapping", "heap"),
                                 ("site_sum", "heap"), ("driver_memory", "heap")))
        number_anew(db, "phase", (("phase", "parent"), ("phase_device", "phase"), ("stretch", "phase"),
                                  ("allocation_phase", "phase")))
        db.execute("UPDATE process SET id = 1, parent = NULL")
        for table in ("heap", "phase", "stretch", "mark", "oom", "sample", "setting", "anomaly", "lost",
                      "torn", "thinned", "phase_sum", "gap", "activity", "driver_memory",
                      "driver_mapping", "overhead"):
            db.execute("UPDATE %s SET process = 1" % table)
        db.commit()
        db.close()
        parts.append((path, process, clock))
    return parts


if __name__ == "__main__":
    for part in split(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])):
        print(part[0], part[1], part[2].offset, part[2].drift)
