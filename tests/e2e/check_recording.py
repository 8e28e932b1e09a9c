"""check_recording.py TIDEMARK DRIVER GUEST PROGRAM WORK "SEED EVENTS THREADS CHILDREN KILL_AT [BITS]"...

Records prog_random once for each of the last arguments, with a ring of 2^BITS slots if that is said
(the driver of tests/record has an option for it), and holds every table and view that has something to say about blocks, phases,
steps, marks and tags against the program's own log (account.py). Then the reports against the
database (check_reports.py).
"""
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import defaultdict

from account import Account, KINDS, LIVING_SEQ, Wrong, check, read_logs, same
import check_reports
import check_views


class Rows:
    """What the database has of one process, by the keys under which the log finds it."""

    def __init__(self, db, process):
        self.process = process
        id = process["id"]
        self.blocks, self.segments = defaultdict(list), defaultdict(list)
        self.marks, self.ooms, self.phases = defaultdict(list), defaultdict(list), defaultdict(list)
        device = "FROM %s a JOIN heap h ON h.id = a.heap JOIN device_text d ON d.id = h.device" \
                 " WHERE h.process = ? ORDER BY a.seq"
        for row in db.execute("SELECT a.*, d.device, h.stream, h.pool, h.name " +
                              device % "allocation", (id,)):
            self.blocks[row["device"], row["address"]].append(row)
        for row in db.execute("SELECT a.*, d.device " + device % "segment", (id,)):
            self.segments[row["device"], row["address"]].append(row)
        for row in db.execute("SELECT * FROM mark WHERE process = ? ORDER BY seq", (id,)):
            self.marks[row["thread"]].append(row)
        for row in db.execute("SELECT * FROM oom WHERE process = ? ORDER BY seq", (id,)):
            self.ooms[row["thread"]].append(row)
        for row in db.execute("SELECT * FROM phase WHERE process = ? AND kind <> 'other'"
                              " ORDER BY begin_seq", (id,)):
            self.phases[row["thread"]].append(row)


def by(db, sql, *values):
    """The rows by their first column."""
    return {row[0]: row for row in db.execute(sql, values)}


def check_time(account, event, ns, what):
    if event.times:
        start = account.start_ns
        check(event.times[0] - start <= ns <= event.times[1] - start,
              "%s: at %d, the call lasted from %d to %d", what, ns, event.times[0] - start,
              event.times[1] - start)


def check_blocks(db, account, id):
    rows = by(db, "SELECT a.seq, a.*, d.device, h.stream, h.pool, h.name, t.category, t.name AS tag_name,"
              " s.text, ap.phase AS own FROM allocation a JOIN heap h ON h.id = a.heap"
              " JOIN device_text d ON d.id = h.device LEFT JOIN tag t ON t.id = a.tag"
              " LEFT JOIN site_text s ON s.site = a.site"
              " LEFT JOIN allocation_phase ap ON ap.allocation = a.seq WHERE h.process = ?", id)
    same(len(rows), len(account.blocks), "how many blocks")
    for block in account.blocks:
        row = rows[block.born.seq]
        want = block.heap.key + (block.address, block.size, block.requested, block.site)
        got = (row["device"], row["stream"], row["pool"], row["name"], row["address"], row["size"],
               row["requested"], row["text"])
        same(got, want, "block %d", row["seq"])
        tag = None if row["tag"] is None else (row["category"], row["tag_name"])
        same(tag, block.tag, "the tag of block %d", row["seq"])
        same(row["free_seq"], block.freed.seq if block.freed else LIVING_SEQ, "its end, block %d", row["seq"])
        same(row["segment"], block.segment.born.seq if block.segment else None, "its segment")
        same(row["own"], block.phase.id if block.phase else None, "its thread's phase")
        check_time(account, block.born, row["alloc_ns"], "birth of a block")
        if block.freed:
            check_time(account, block.freed, row["alloc_ns"] + row["life_ns"], "end of a block")


def check_small(db, account, id):
    """Segments, marks, OOMs, anomalies."""
    rows = by(db, "SELECT s.seq, s.*, h.stream, h.pool, h.name FROM segment s"
              " JOIN heap h ON h.id = s.heap WHERE h.process = ?", id)
    same(len(rows), len(account.segments), "how many segments")
    for segment in account.segments:
        row = rows[segment.born.seq]
        same((row["address"], row["size"], row["free_seq"]),
             (segment.address, segment.size, segment.freed.seq if segment.freed else None), "a segment")
    marks = by(db, "SELECT * FROM mark WHERE process = ?", id)
    ooms = by(db, "SELECT o.*, d.device AS text, s.text AS place FROM oom o"
              " LEFT JOIN device_text d ON d.id = o.device LEFT JOIN site_text s ON s.site = o.site"
              " WHERE o.process = ?", id)
    for event in account.events:
        if event.kind == "M":
            row = marks.pop(event.seq)
            same((row["thread"], "x" + row["name"].encode().hex(), row["value"]),
                 (event.tid, event.words[0], int(event.words[1])), "a mark")
            check_time(account, event, row["at_ns"], "a mark")
        elif event.kind == "O":
            row = ooms.pop(event.seq)
            same((row["thread"], row["asked"], row["allocated"], row["reserved"], row["text"], row["place"]),
                 (event.tid, int(event.words[1]), event.allocated, event.reserved,
                  account.heaps[int(event.words[0])].device, "build (model.c:10)"), "an OOM")
    check(not marks and not ooms, "marks or OOMs that no log has")


def check_anomalies(db, account, process):
    stored = defaultdict(int)
    for row in db.execute("SELECT kind, detail FROM anomaly WHERE process = ?", (process["id"],)):
        words = (row["detail"] or "").split(" ")
        more = row["detail"] and (" more of this kind" in row["detail"] or row["detail"].endswith(" after a fork"))
        stored[row["kind"]] += int(words[0]) if more else 1
    same(dict(stored), {k: n for k, n in account.anomalies.items() if n}, "anomalies")


def check_phases(db, account, id):
    rows = by(db, "SELECT begin_seq, * FROM phase WHERE process = ? AND kind <> 'other'", id)
    same(len(rows), len(account.phases), "how many phases")
    killed = account.rows.process["ended"] == "signal"
    for phase in account.phases:
        phase.id = rows[phase.begin.seq]["id"]
    for phase in account.phases:
        row = rows[phase.begin.seq]
        kind = phase.name if phase.name in KINDS else "user"
        want = (phase.name, kind, phase.begin.tid, phase.scope, phase.step, phase.ordinal,
                phase.parent.id if phase.parent else None)
        same((row["name"], row["kind"], row["thread"], row["scope"], row["step"], row["ordinal"],
              row["parent"]), want, "phase %d", phase.id)
        check_time(account, phase.begin, row["begin_ns"], "begin of a phase")
        if phase.end:
            same((row["end_seq"], row["ended"]), (phase.end.seq, phase.ended), "its end")
            check_time(account, phase.end, row["end_ns"], "end of a phase")
        else:
            check(row["end_seq"] >= max(account.numbers, default=0), "a phase left open ends too early")
            check(row["ended"] == "process end" or (killed and row["ended"] == "unbalanced"),
                  "how a phase ended that was left open: %s", row["ended"])
        last = phase.end.at if phase.end else len(account.events) - 1
        check_parts(db, account, phase.id, phase.begin.at, last, phase.split)


def check_parts(db, account, phase, first, last, split):
    parts = by(db, "SELECT d.device, p.* FROM phase_device p JOIN device_text d ON d.id = p.device"
               " WHERE p.phase = ?", phase)
    for name, device in account.devices.items():
        if not device.after[last + 1]["allocs"]:
            check(name not in parts, "phase %d has a row of %s, where nothing was", phase, name)
            continue
        check(name in parts, "phase %d has no row of %s", phase, name)
        want = account.stretch(name, first, last)
        if split is not None:
            want["inactive_split"] = split[name]
        row = parts[name]
        same({key: row[key] for key in want}, want, "phase %d on %s", phase, name)
        check((row["peak_ns"] is None) == (row["peak_seq"] is None), "when a peak was")


def check_stretches(db, account, id):
    """Every number belongs to one innermost phase, and what is between phases is one, too."""
    phases = by(db, "SELECT * FROM phase WHERE process = ?", id)
    rows = db.execute("SELECT begin_seq, phase FROM stretch WHERE process = ? ORDER BY 1", (id,)).fetchall()
    at, others = 0, defaultdict(list)
    for event in account.events:
        if event.seq is None:
            continue
        while at + 1 < len(rows) and rows[at + 1]["begin_seq"] <= event.seq:
            at += 1
        phase = phases[rows[at]["phase"]]
        check(phase["begin_seq"] <= event.seq <= phase["end_seq"], "seq %d is not in phase %d",
              event.seq, phase["id"])
        if event.here:
            same(phase["id"], event.here.id, "where seq %d was", event.seq)
        else:
            same((phase["kind"], phase["step"]), ("other", event.step), "where seq %d was", event.seq)
            others[phase["id"]].append(event)
    check_others(db, account, phases, others)
    tops = [p for p in phases.values() if p["scope"] == "process" and
            (p["parent"] is None or phases[p["parent"]]["scope"] == "thread")]
    tops.sort(key=lambda phase: phase["begin_seq"])
    process = account.rows.process
    same(tops[0]["begin_ns"], process["start_ns"], "the first phase begins with the process")
    same(tops[-1]["end_ns"], process["end_ns"], "the last one ends with it")
    for before, after in zip(tops, tops[1:]):
        same(after["begin_ns"], before["end_ns"], "phase %d begins as %d ends", after["id"], before["id"])
        check(after["begin_seq"] > before["end_seq"], "phases share a number")


def check_others(db, account, phases, events):
    """Values of what is between; it may hold no event at all, then nothing changed."""
    ordinals = defaultdict(int)
    for phase in sorted(phases.values(), key=lambda row: row["begin_seq"]):
        if phase["kind"] != "other":
            continue
        same((phase["name"], phase["thread"], phase["ordinal"]), ("other", None, ordinals[phase["step"]]),
             "what is between")
        ordinals[phase["step"]] += 1
        inside = events.get(phase["id"])
        if inside:
            check_parts(db, account, phase["id"], inside[0].at, inside[-1].at, None)
        else:
            for row in db.execute("SELECT * FROM phase_device WHERE phase = ?", (phase["id"],)):
                same((row["allocs"], row["frees"], row["alloc_bytes"], row["peak_seq"],
                      row["peak_allocated"]), (0, 0, 0, None, row["begin_allocated"]), "an empty stretch")


def check_process(db, account):
    process = account.rows.process
    account.numbers = numbers = [event.seq for event in account.events if event.seq is not None]
    same(process["events"], len(account.events), "events of the process")
    if numbers:
        check(process["first_seq"] <= min(numbers) and process["last_seq"] >= max(numbers), "its numbers")
    check_phases(db, account, process["id"])
    check_blocks(db, account, process["id"])
    check_small(db, account, process["id"])
    if process["ended"] != "signal":
        check_anomalies(db, account, process)
    check_stretches(db, account, process["id"])


def check_all(db, folder, killed):
    logs = read_logs(folder)
    start_ns = int(db.execute("SELECT value FROM meta WHERE key = 'start_monotonic_ns'").fetchone()[0])
    same(db.execute("PRAGMA integrity_check").fetchone()[0], "ok", "integrity")
    same(db.execute("SELECT value FROM meta WHERE key = 'finished'").fetchone()[0], 1, "finished")
    same(db.execute("SELECT count(*) FROM lost").fetchone()[0], 0, "lost")
    if not killed:
        same(db.execute("SELECT count(*) FROM torn").fetchone()[0], 0, "torn")
    processes = db.execute("SELECT * FROM process ORDER BY id").fetchall()
    accounts, seen = [], defaultdict(int)
    images = defaultdict(list)
    for pid, image in sorted(logs):
        images[pid].append(image)
    for process in processes:
        pid = process["pid"]
        check(seen[pid] < len(images[pid]), "a row of pid %d that was no image", pid)
        threads = logs[pid, images[pid][seen[pid]]]
        seen[pid] += 1
        try:
            account = Account(threads, Rows(db, process), start_ns)
            check_process(db, account)
        except Wrong as wrong:
            raise Wrong("process %d: %s" % (process["id"], wrong)) from None
        accounts.append(account)
    same(sum(seen.values()), len(logs), "how many images")
    return accounts


def run(tidemark, driver, guest, program, work, arguments):
    words = arguments.split()
    recorder = [tidemark, "record"] if len(words) < 6 else [driver, "-g", guest, "-b", words[5]]
    folder, path = os.path.join(work, "log"), os.path.join(work, "run.db")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(folder)
    killed = words[4] != "0"
    done = subprocess.run(recorder + ["-o", path, "--", program, folder] + words[:5],
                          stderr=subprocess.PIPE)
    same(done.returncode, -9 if killed else 0, "%s", done.stderr.decode())
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    db.row_factory = sqlite3.Row
    accounts = check_all(db, folder, killed)
    check_views.check_all(db, accounts)
    check_reports.check_all(tidemark, path, db)
    db.close()
    print("%s: %d processes, %d events" % (arguments, len(accounts), sum(len(a.events) for a in accounts)))


def main():
    *tools, work = sys.argv[1:6]
    for arguments in sys.argv[6:]:
        try:
            run(*tools, work, arguments)
        except Wrong as wrong:
            print("prog_random %s: %s\nkept in %s" % (arguments, wrong, work))
            return 1
    shutil.rmtree(work, ignore_errors=True)
    return 0


sys.exit(main())
