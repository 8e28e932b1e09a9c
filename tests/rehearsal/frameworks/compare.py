"""What a rehearsal recorded against what PyTorch counted itself in the same processes, to the byte.

    compare.py DATABASE FOLDER

The folder has what counted.py wrote, one file for each process. For each of its devices: the highest
sum of the blocks that live, the highest that the phases and the view `peak` have, and the number of
blocks that were handed out, against torch.cuda's counters of allocated memory; what the phases have
of reserved memory, and where the recording has segments their highest sum, against the counter of
reserved memory. Prints a line for each quantity that differs. Exit status: 0 all are equal, 1 not, or
there was nothing to compare.
"""
import glob
import json
import os
import sqlite3
import sys


class Counted(object):
    """One device of one process, as PyTorch counted it."""

    def __init__(self, process, device, stats):
        self.process, self.device = process, device
        self.allocated = stats["allocated_bytes.all.peak"]
        self.reserved = stats["reserved_bytes.all.peak"]
        self.blocks = stats["allocation.all.allocated"]


def read_counted(folder):
    """[(pid, host_peak, {ordinal: stats})], from counted.py's files."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            one = json.load(file)
        devices = {int(device): stats for device, stats in one["devices"].items()}
        found.append((one["pid"], one["host_peak"], devices))
    return found


def process_of(db, pid, device):
    """The image of this pid that has blocks there; None if none has."""
    found = db.execute(
        "SELECT p.id FROM process p JOIN heap h ON h.process = p.id WHERE p.pid = ? AND "
        "h.device = ? AND EXISTS (SELECT * FROM allocation a WHERE a.heap = h.id) "
        "GROUP BY p.id", (pid, device)).fetchall()
    return found[0][0] if len(found) == 1 else None


def device_of(db, ordinal):
    found = db.execute("SELECT id FROM device WHERE kind = 'cuda' AND ordinal = ?",
                       (ordinal,)).fetchone()
    return found and found[0]


def counted_of(db, folder):
    """(what was counted where the recording has the process, lines about what it has not)."""
    found, missing = [], []
    for pid, _, devices in read_counted(folder):
        for ordinal, stats in sorted(devices.items()):
            device = device_of(db, ordinal)
            process = device and process_of(db, pid, device)
            if process is None:
                missing.append("pid %d has no blocks on cuda:%d in the recording" % (pid, ordinal))
            else:
                found.append(Counted(process, device, stats))
    return found, missing


def highest(changes):
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def block_changes(db, one):
    rows = db.execute("SELECT a.seq, a.size, a.free_seq FROM allocation a JOIN heap h ON h.id = "
                      "a.heap WHERE h.process = ? AND h.device = ?",
                      (one.process, one.device)).fetchall()
    gone = [(freed, -size) for _, size, freed in rows if freed >= 0]
    return len(rows), [(seq, size) for seq, size, _ in rows] + gone


def segment_changes(db, one):
    """Segments, and pages that were mapped into reserved addresses. At one event, what goes goes
    first: its number is that of the block that needed the next."""
    where = " JOIN heap h ON h.id = s.heap WHERE h.process = ? AND h.device = ?"
    changes = []
    for seq, size, freed in db.execute("SELECT s.seq, s.size, s.free_seq FROM segment s" + where,
                                       (one.process, one.device)):
        changes.append((seq, size))
        if freed is not None and freed >= 0:
            changes.append((freed, -size))
    for seq, size, mapped in db.execute("SELECT s.seq, s.size, s.mapped FROM mapping s" + where,
                                        (one.process, one.device)):
        changes.append((seq, size if mapped else -size))
    return changes


def figures(db, one):
    """{what: (recorded, counted)}"""
    count, blocks = block_changes(db, one)
    allocated, reserved = db.execute(
        "SELECT max(pd.max_allocated), max(pd.max_reserved) FROM phase_device pd JOIN phase ph "
        "ON ph.id = pd.phase WHERE ph.process = ? AND pd.device = ?",
        (one.process, one.device)).fetchone()
    name = db.execute("SELECT kind || ':' || ordinal FROM device WHERE id = ?",
                      (one.device,)).fetchone()[0]
    viewed = db.execute("SELECT max(allocated) FROM peak WHERE process = ? AND device = ?",
                        (one.process, name)).fetchone()[0]
    segments = segment_changes(db, one)
    found = {"blocks": (count, one.blocks),
             "peak allocated (blocks)": (highest(blocks), one.allocated),
             "peak allocated (phases)": (allocated, one.allocated),
             "peak allocated (view peak)": (viewed, one.allocated),
             "peak reserved (phases)": (reserved, one.reserved)}
    if segments:
        found["peak reserved (segments)"] = (highest(segments), one.reserved)
    return found


def compare(path, folder):
    """(how many figures were compared, lines about those that differ)."""
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    counted, lines = counted_of(db, folder)
    total = 0
    for one in counted:
        for what, (ours, theirs) in sorted(figures(db, one).items()):
            total += 1
            if ours != theirs:
                lines.append("process %d, device %d, %s: recorded %s, torch counted %s" % (
                    one.process, one.device, what, ours, theirs))
    lost = db.execute("SELECT coalesce(sum(n), 0) FROM lost").fetchone()[0]
    if lost:
        lines.append("%d events were lost" % lost)
    return total, lines


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 1
    total, lines = compare(*arguments)
    for line in lines:
        print(line)
    print("%d figures, %s" % (total, "DIFFERENT" if lines else "equal" if total else "NOTHING"))
    return 1 if lines or not total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
