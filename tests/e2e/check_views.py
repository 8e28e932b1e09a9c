"""The promised views, against the accounts of the processes and against plain scans of the tables.

Whatever a view finds by keyframes, indexes and recursive queries is found here by looking at all
blocks, phases and events one after the other.
"""
from bisect import bisect_right
from collections import defaultdict

from account import LIVING_SEQ, check, same

CUT = ("exception", "process end")


class Recording:
    """The tables of one process as plain lists, and where each number was."""

    def __init__(self, db, account):
        self.id = account.rows.process["id"]
        self.phases = {row["id"]: row for row in
                       db.execute("SELECT * FROM phase WHERE process = ?", (self.id,))}
        self.own = dict(db.execute("SELECT allocation, phase FROM allocation_phase").fetchall())
        rows = db.execute("SELECT begin_seq, phase FROM stretch WHERE process = ? ORDER BY 1",
                          (self.id,)).fetchall()
        self.begins = [row[0] for row in rows]
        self.heres = [row[1] for row in rows]
        steps = [phase for phase in self.phases.values() if phase["step"] is not None]
        self.first_seq = min((p["begin_seq"] for p in steps), default=None)
        self.last_seq = max((p["end_seq"] for p in steps), default=None)
        self.last_step = max((p["step"] for p in steps), default=None)
        self.first_optimizer = min((p["step"] for p in steps if p["kind"] == "optimizer"), default=None)
        self.steps = steps
        self.heaps = {row["id"] for row in
                      db.execute("SELECT id FROM heap WHERE process = ?", (self.id,))}
        self.sizes, self.copied = self.parameters(db)

    def parameters(self, db):
        """{bytes: the first} of the parameters with a tag that were there before the first step and
        stayed; and whether blocks without one match more than half of them."""
        early = [row for row in db.execute("SELECT a.seq, a.heap, a.size, a.free_seq, a.tag IS NULL AS"
                                           " bare, t.category FROM allocation a"
                                           " LEFT JOIN tag t ON t.id = a.tag ORDER BY a.seq")
                 if self.first_seq is not None and row["heap"] in self.heaps and
                 row["seq"] < self.first_seq and
                 (row["free_seq"] == LIVING_SEQ or row["free_seq"] > self.last_seq)]
        counts, sizes = defaultdict(lambda: [0, 0]), {}
        for row in early:
            counts[row["size"]][0] += row["category"] == 1
            counts[row["size"]][1] += row["bare"]
            if row["category"] == 1:
                sizes.setdefault(row["size"], row["seq"])
        matched = sum(min(pair) for pair in counts.values())
        return sizes, matched * 2 > sum(pair[0] for pair in counts.values())

    def here(self, seq):
        """The innermost phase of scope process that has this number."""
        at = bisect_right(self.begins, seq) - 1
        return self.phases[self.heres[at]] if at >= 0 else None

    def born(self, seq):
        return self.phases[self.own[seq]] if seq in self.own else self.here(seq)

    def role(self, phase):
        """A phase of the user's own is part of what it is in."""
        while phase is not None and phase["kind"] == "user" and phase["parent"] is not None:
            phase = self.phases[phase["parent"]]
        return phase and phase["kind"]

    def end_of(self, step):
        return max((p["end_seq"] for p in self.steps if p["step"] == step), default=None)

    def backward_end(self, step):
        """None: there was none, or one was cut short."""
        backwards = [p for p in self.steps if p["step"] == step and p["kind"] == "backward"]
        if any(p["ended"] in CUT for p in backwards):
            return None
        return max((p["end_seq"] for p in backwards), default=None)

    def cut_short(self, step, seq, free_seq):
        """It lived when the step ended before its backward did."""
        if step is None or self.backward_end(step) is not None:
            return False
        cut = max((p["end_seq"] for p in self.steps
                   if p["step"] == step and p["kind"] != "other" and p["ended"] in CUT), default=None)
        return cut is not None and seq <= cut and (free_seq == LIVING_SEQ or free_seq > cut)

    def early(self, seq, size, tag):
        """What was there before the first step, and stayed."""
        if not self.sizes:
            return "parameter"
        if tag is None and self.copied and self.sizes.get(size, seq) < seq:
            return "copy of parameters (EMA or frozen)"
        return "other"

    def category(self, seq, free_seq, size, tag):
        """design: tags where there are some, else from the life."""
        names = (None, "parameter", "gradient", "optimizer state", "activation", "input", "bucket",
                 "workspace", "other")
        computed = ("forward", "loss", "backward", "recompute", "eval")
        if tag is not None and (names[tag] != "input" or
                                self.role(self.born(seq)) not in computed):
            return names[tag]
        if self.first_seq is None:
            return "other"
        lives = free_seq == LIVING_SEQ

        def outlives(bound):
            return bound is not None and (lives or free_seq > bound)
        if seq < self.first_seq:
            return self.early(seq, size, tag) if outlives(self.last_seq) else "other"
        born, freed = self.born(seq), None if lives else self.here(free_seq)
        role, step = self.role(born), born["step"]
        if freed is not None and freed["id"] == born["id"]:
            return "workspace"
        if role == "backward":
            if freed is not None and freed["kind"] == "zero_grad":
                return "gradient"
            if self.cut_short(step, seq, free_seq):
                return "other"
            if step is not None and outlives(self.end_of(step)):
                return "gradient"
        if role == "optimizer" and step == self.first_optimizer and step is not None and \
                outlives(self.end_of(step)):
            return "optimizer state"
        if role in ("forward", "loss", "recompute"):
            if freed is not None and self.role(freed) in ("backward", "recompute"):
                return "activation"
            if self.cut_short(step, seq, free_seq):
                return "activation"
            last = self.backward_end(step) if step is not None else None
            if lives and last is None and step is not None and step == self.last_step:
                return "activation"
            if last is not None and seq < last and outlives(last):
                return "activation, held by the program"
        return "other"


def check_allocations(db, account, recording):
    rows = {row["allocation"]: row for row in
            db.execute("SELECT * FROM allocations WHERE process = ?", (recording.id,))}
    same(len(rows), len(account.blocks), "rows of allocations")
    for block in account.blocks:
        row = rows[block.born.seq]
        born = recording.born(block.born.seq)
        freed = recording.here(block.freed.seq) if block.freed else None
        want = (block.heap.device, block.size, block.requested, born["step"], born["name"],
                freed and freed["step"], freed and freed["name"], block.site,
                block.tag and block.tag[1], block.freed and block.freed.seq, block.address)
        got = tuple(row[key] for key in
                    ("device", "size", "requested", "step", "phase", "freed_step", "freed_phase", "site",
                     "tag", "free_seq", "address"))
        same(got, want, "allocations of %d", block.born.seq)
        check((row["life_ns"] is None) == (block.freed is None) == (row["free_ns"] is None),
              "what lives has no end")
    for row in db.execute("SELECT a.seq, a.free_seq, a.size, t.category AS tag, c.category, c.rule"
                          " FROM allocation a JOIN heap h ON h.id = a.heap"
                          " JOIN allocation_category c ON c.allocation = a.seq"
                          " LEFT JOIN tag t ON t.id = a.tag WHERE h.process = ?", (recording.id,)):
        want = recording.category(row["seq"], row["free_seq"], row["size"], row["tag"])
        same(row["category"], want, "what block %d is for (%s)", row["seq"], row["rule"])


def living_at(account, device, at):
    """After the event at that place."""
    return [b for b in account.blocks if b.heap.device == device and b.born.at <= at and
            (b.freed is None or b.freed.at > at)]


def add_up(rows, key):
    sums = defaultdict(lambda: [0, 0])
    for row in rows:
        sums[row[key]][0] += row["size"]
        sums[row[key]][1] += 1
    return {name: tuple(pair) for name, pair in sums.items()}


def check_peak(db, account, recording, name, device):
    where = " FROM %s WHERE process = ? AND device = ?"
    key = (recording.id, name)
    series = [values["allocated"] for values in device.after]
    highest = max(series)
    rows = db.execute("SELECT *" + where % "peak", key).fetchall()
    if not device.now["allocs"]:
        check(not rows, "a peak on %s, where nothing was", name)
        return
    same(len(rows), 1, "rows of peak on %s", name)
    row = rows[0]
    same(row["allocated"], highest, "the peak of %s", name)
    live = db.execute("SELECT *" + where % "live_at_peak", key).fetchall()
    same(sum(block["size"] for block in live), highest, "what lived at the peak of %s", name)
    for view, column in (("peak_by_category", "category"), ("peak_by_site", "site")):
        sums = {r[column]: (r["bytes"], r["blocks"]) for r in db.execute("SELECT *" + where % view, key)}
        same(sums, add_up(live, column), "%s of %s", view, name)
    if highest:
        event = account.events[series.index(highest) - 1]
        phase = recording.born(event.seq)
        same((row["seq"], row["phase_id"], row["phase"], row["step"], row["reserved"]),
             (event.seq, phase["id"], phase["name"], phase["step"], device.after[event.at + 1]["reserved"]),
             "where the peak of %s was", name)
        same(sorted(block["allocation"] for block in live),
             sorted(block.born.seq for block in living_at(account, name, event.at)), "the blocks there")


def check_timeline(db, account, recording, name, device):
    """Times are those of the database, which have been checked against the log."""
    changes = []
    for row in db.execute("SELECT a.alloc_ns, a.life_ns, a.free_seq, a.seq, a.size FROM allocation a"
                          " JOIN heap h ON h.id = a.heap JOIN device_text d ON d.id = h.device"
                          " WHERE h.process = ? AND d.device = ?", (recording.id, name)):
        changes.append((row["seq"], row["alloc_ns"], row["size"]))
        if row["free_seq"] >= 0:
            changes.append((row["free_seq"], row["alloc_ns"] + row["life_ns"], -row["size"]))
    changes.sort(key=lambda change: (change[0], change[2]))  # what was there ends first
    rows = db.execute("SELECT * FROM timeline WHERE process = ? AND device = ? ORDER BY at_ns",
                      (recording.id, name)).fetchall()
    check(bool(rows) or not changes, "no timeline of %s", name)
    value, at, last = 0, 0, None
    several = sum(heap.device == name for heap in account.heaps.values()) > 1
    for row in rows:
        check(last is None or row["from_ns"] >= last, "buckets of %s overlap", name)
        highest = value
        while at < len(changes) and changes[at][1] < row["at_ns"]:
            check(changes[at][1] >= row["from_ns"], "a change between the buckets of %s", name)
            value += changes[at][2]
            highest = max(highest, value)
            at += 1
        last = row["at_ns"]
        same(row["allocated"] or 0, value, "timeline of %s at %d", name, last)
        if row["max_allocated"] is not None:
            check(row["max_allocated"] == highest or (several and row["max_allocated"] > highest),
                  "the highest of %s before %d is %r, was %d", name, last, row["max_allocated"], highest)
    same(at, len(changes), "changes of %s in the timeline", name)
    reserved = [row["reserved"] for row in rows if row["reserved"] is not None]
    same(reserved[-1] if reserved else None, device.now["reserved"], "reserved at the end of %s", name)


def check_phase_table(db, recording):
    rows = db.execute("SELECT * FROM phase_table WHERE process = ?", (recording.id,)).fetchall()
    parts = db.execute("SELECT count(*) FROM phase_device p JOIN phase ph ON ph.id = p.phase"
                       " WHERE ph.process = ?", (recording.id,)).fetchone()[0]
    same(len(rows), parts, "rows of phase_table")
    broken = 0
    for row in rows:
        phase = recording.phases[row["phase_id"]]
        same((row["phase"], row["step"], row["begin_ns"], row["end_ns"]),
             (phase["name"], phase["step"], phase["begin_ns"], phase["end_ns"]), "a row of phase_table")
        share = row["inactive_split"] / row["reserved"] if row["reserved"] else None
        same(row["fragmentation"], share, "fragmentation")
        broken += row["reserved"] is not None
        check(row["phase_peak"] >= max(row["allocated"], row["begin_allocated"]), "a peak below an end")
        check(row["max_allocated"] >= row["phase_peak"], "a maximum below a peak")
    order = [recording.phases[row["phase_id"]]["begin_seq"] for row in rows]
    same(order, sorted(order), "the order of phase_table")
    count = db.execute("SELECT count(*), coalesce(sum(allocated + inactive_split + cached <> reserved), 0)"
                       " FROM fragmentation WHERE process = ? AND active IS NULL", (recording.id,)).fetchone()
    check(count[0] <= broken, "rows of fragmentation")


def check_leaks(db, account, recording):
    groups = defaultdict(list)
    for block in account.blocks:
        born = recording.born(block.born.seq)
        if recording.last_seq is None or born["step"] is None or born["step"] > recording.last_step - 2:
            continue
        if block.born.seq >= recording.first_seq and \
                (block.freed is None or block.freed.seq > recording.last_seq):
            groups[block.heap.device, block.site].append((born["step"], block.size))
    want = {key: (len(set(s for s, _ in found)), len(found), sum(size for _, size in found))
            for key, found in groups.items() if len(set(s for s, _ in found)) > 1}
    got = {(row["device"], row["site"]): (row["steps"], row["blocks"], row["bytes"])
           for row in db.execute("SELECT * FROM leak WHERE process = ?", (recording.id,))}
    same(got, want, "leaks")


def check_all(db, accounts):
    for account in accounts:
        recording = Recording(db, account)
        check_allocations(db, account, recording)
        check_phase_table(db, recording)
        check_leaks(db, account, recording)
        for name, device in account.devices.items():
            check_peak(db, account, recording, name, device)
            check_timeline(db, account, recording, name, device)
