"""Compares what a recording says with PyTorch's own counters, to the byte.

    counters.py DATABASE...

The recordings are of programs run by observed.py on a GPU, which leaves marks with the counters. At
each of them: allocated is the sum of the blocks that live there; max allocated is the highest that
this sum ever was; reserved, which no block tells, is that of the phase that has just ended. Behind a mark that says
that the program reset its peaks, maxima are not compared: ours are never reset. The
rows of the phases are compared as well, where nothing was born between the end of the phase and the
mark. Prints a line for each point and quantity that differs, and one for each recording. Exit status 0 if
all are equal, 1 if not, or if there was nothing to compare.
"""
import os
import sqlite3
import sys

RESET = "cuda peaks reset"
QUANTITIES = ("allocated", "max allocated", "reserved")


class Point(object):
    """A place in the program: the counters there, and what the recording says."""

    def __init__(self, process, phase, step, seq):
        self.process, self.phase, self.step, self.seq = process, phase, step, seq
        self.torch, self.ours = {}, {}

    def __str__(self):
        when = "before the first step" if self.step < 0 else "step %d" % self.step
        return "process %d, %s, %s" % (self.process, when, self.phase)

    def differences(self):
        """(quantity, ours, torch's) where they differ."""
        for source, values in sorted(self.ours.items()):
            for quantity, value in sorted(values.items()):
                if value != self.torch.get(quantity):
                    yield "%s (%s)" % (quantity, source), value, self.torch.get(quantity)

    def compared(self):
        return sum(len(values) for values in self.ours.values())


def points_of(db):
    """From the marks: one with the phase's name, then one for each counter."""
    found = {}
    for seq, process, name, value in db.execute(
            "SELECT seq, process, name, value FROM mark ORDER BY seq"):
        quantity = name[len("cuda "):] if name.startswith("cuda ") else None
        if quantity in QUANTITIES and process in found:
            found[process][-1].torch[quantity] = value
        elif quantity is None:
            found.setdefault(process, []).append(Point(process, name, value, seq))
    return [point for points in found.values() for point in points if point.torch]


def sum_blocks(db, process, points):
    """Walks through births and deaths of all blocks on GPUs, and fills points on the way."""
    changes = []
    for seq, size, freed in db.execute(
            "SELECT a.seq, a.size, a.free_seq FROM allocation a JOIN heap h ON h.id = a.heap "
            "JOIN device d ON d.id = h.device WHERE h.process = ? AND d.kind = 'cuda'", (process,)):
        changes.append((seq, size))
        if freed >= 0:
            changes.append((freed, -size))
    changes.sort()
    now = highest = at = 0
    for point in sorted(points, key=lambda point: point.seq):
        while at < len(changes) and changes[at][0] < point.seq:
            now += changes[at][1]
            highest = max(highest, now)
            at += 1
        point.ours["blocks"] = {"allocated": now, "max allocated": highest}
    return [seq for seq, size in changes if size > 0]


def take_row(db, point, births):
    """The row of the phase that the point stands behind; if blocks were born since, it tells
    nothing. What died since, the values of variables that were assigned, is put back."""
    row = db.execute(
        "SELECT ph.id, ph.end_seq, sum(pd.allocated), sum(pd.max_allocated), sum(pd.reserved) "
        "FROM phase ph JOIN phase_device pd ON pd.phase = ph.id JOIN device d ON d.id = pd.device "
        "WHERE ph.process = ? AND ph.name = ? AND ph.step = ? AND d.kind = 'cuda' "
        "GROUP BY ph.id ORDER BY ph.begin_seq DESC LIMIT 1",
        (point.process, point.phase, point.step)).fetchone()
    if row is None or row[1] is None:
        return
    first, last = sorted((row[1], point.seq))
    if any(first < seq <= last for seq in births):  # the last event of a phase is its own
        return
    died = db.execute(
        "SELECT coalesce(sum(a.size), 0) FROM allocation a JOIN heap h ON h.id = a.heap "
        "JOIN device d ON d.id = h.device WHERE h.process = ? AND d.kind = 'cuda' "
        "AND a.free_seq > ? AND a.free_seq <= ?", (point.process, first, last)).fetchone()[0]
    allocated = row[2] - died if row[1] < point.seq else row[2] + died
    point.ours["phase"] = {"allocated": allocated, "max allocated": row[3], "reserved": row[4]}


def first_reset(db, process):
    """When the program first reset its peaks, of whatever device; it never did: infinite."""
    found = db.execute("SELECT min(seq) FROM mark WHERE process = ? AND name = ?",
                       (process, RESET)).fetchone()[0]
    return float("inf") if found is None else found


def compare(path):
    """(values compared, lines about those that differ) of a database."""
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    points = points_of(db)
    for process in sorted({point.process for point in points}):
        own = [point for point in points if point.process == process]
        births = sum_blocks(db, process, own)
        reset = first_reset(db, process)
        for point in own:
            take_row(db, point, births)
            for values in point.ours.values() if point.seq > reset else ():
                del values["max allocated"]
    lines = ["%s: %s: recorded %s, torch says %s" % ((point,) + difference)
             for point in points for difference in point.differences()]
    lost = db.execute("SELECT coalesce(sum(n), 0) FROM lost").fetchone()[0]
    if lost:
        lines.append("%d events were lost" % lost)
    return sum(point.compared() for point in points), lines


def main(paths):
    failed = False
    for path in paths:
        count, lines = compare(path)
        for line in lines:
            print("    " + line)
        verdict = "equal" if count and not lines else "DIFFERENT" if count else "NO COUNTERS"
        print("%-28s %5d values  %s" % (os.path.basename(path), count, verdict))
        failed |= verdict != "equal"
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
