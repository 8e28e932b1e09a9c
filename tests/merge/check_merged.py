"""Is a merged recording what the whole one was? Blocks, phases and names of each rank are compared row
by row; times, and the order of events of different ranks, have to hold within the error that the merged
one states. The parts come from split.py."""
import sqlite3


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


BLOCKS = """SELECT h.process, d.kind, a.address, a.size, a.requested, a.free_seq < 0, t.category, t.name,
  (SELECT group_concat(s.depth || ' ' || coalesce(fn.text, '') || ' ' || coalesce(fi.text, '') || ' ' ||
                       coalesce(f.line, ''), '|')
     FROM (SELECT * FROM site WHERE site = a.site ORDER BY depth) s
     JOIN frame f ON f.id = s.frame
     LEFT JOIN string fn ON fn.id = f.function LEFT JOIN string fi ON fi.id = f.file),
  (SELECT path || ' ' || class FROM module m WHERE m.id = a.module)
 FROM allocation a JOIN heap h ON h.id = a.heap JOIN device d ON d.id = h.device
 LEFT JOIN tag t ON t.id = a.tag WHERE h.process = ? ORDER BY a.seq"""
PHASES = """SELECT ph.thread, ph.ordinal, ph.kind, ph.name, ph.step, ph.scope, ph.ended, pd.allocated,
  pd.peak_allocated, pd.max_allocated, pd.allocs, pd.frees
 FROM phase ph LEFT JOIN phase_device pd ON pd.phase = ph.id WHERE ph.process = ? ORDER BY ph.begin_seq,
 ph.id"""
# (seq, time) of births, deaths and ends of phases: what happened when.
EVENTS = """SELECT seq, alloc_ns FROM allocation a JOIN heap h ON h.id = a.heap WHERE h.process = ?1
 UNION ALL SELECT free_seq, alloc_ns + life_ns FROM allocation a JOIN heap h ON h.id = a.heap
 WHERE h.process = ?1 AND free_seq >= 0
 UNION ALL SELECT begin_seq, begin_ns FROM phase WHERE process = ?1 AND kind <> 'other'
 UNION ALL SELECT end_seq, end_ns FROM phase WHERE process = ?1 AND kind <> 'other'
 AND end_seq IS NOT NULL"""


def same_rows(whole, merged, pairs):
    for here, there in pairs:
        assert [row[1:] for row in rows(whole, BLOCKS, here)] == \
            [row[1:] for row in rows(merged, BLOCKS, there)], "blocks of process %d" % here
        assert rows(whole, PHASES, here) == rows(merged, PHASES, there), "phases of process %d" % here


def moments(merged, pairs, parts, shift):
    """(seq in the merged one, true time, time in the merged one) of every event, by seq."""
    told = []
    for (here, there), (path, _, clock) in zip(pairs, parts):
        part = sqlite3.connect(path)
        own = sorted(rows(part, EVENTS, 1))
        part.close()
        new = sorted(rows(merged, EVENTS, there))
        assert len(own) == len(new)
        told += [(seq, clock.true(ns), at, there) for (_, ns), (seq, at) in zip(own, new)]
    return sorted(told)


def same_order(told, errors):
    """Where a later number was earlier in truth, it was so by less than what both may be off. Inside
    of one process there is no such place."""
    latest, worst = [], 0
    for seq, true, _, process in told:
        for other, (before, _) in latest:
            allowed = 0 if other == process else errors[other] + errors[process]
            assert before - true <= allowed + 2, (seq, before - true, allowed)
            worst = max(worst, before - true)
        latest = [entry for entry in latest if entry[0] != process or entry[1][0] > true]
        if all(entry[0] != process for entry in latest):
            latest.append((process, (true, seq)))
    return worst


def check(whole_path, merged_path, parts):
    whole, merged = sqlite3.connect(whole_path), sqlite3.connect(merged_path)
    pairs = [(process, number) for number, (_, process, _) in enumerate(parts, 1)]
    same_rows(whole, merged, pairs)
    nodes = rows(merged, "SELECT node, aligned_by, error_ns, offset_ns, drift_ppb FROM node ORDER BY node")
    assert len(nodes) == len(parts)
    errors = {node: error or 0 for node, _, error, _, _ in nodes}
    told = moments(merged, pairs, parts, 0)
    # All times of the merged run are the true ones and a constant: that of the first recording.
    first = [at - true for _, true, at, process in told if process == 1]
    base = sum(first) / len(first)
    off = {}
    for _, true, at, process in told:
        off[process] = max(off.get(process, 0), abs(at - true - base))
    slope = abs(parts[0][2].drift) * max(true for _, true, _, _ in told)
    for node, way, error, _, _ in nodes:
        assert error is None or off[node] <= error + slope + 1000, (node, way, off[node], error)
    worst = same_order(told, errors)
    numbers = [seq for seq, _, _, _ in told]
    assert len(set(numbers)) <= len(numbers) and min(numbers) >= 1
    return {"ways": sorted({way for _, way, _, _, _ in nodes}), "off": off, "errors": errors,
            "out_of_order_ns": worst, "events": len(told)}


if __name__ == "__main__":
    import subprocess
    import sys
    import tempfile
    import split
    command, whole_path, folder = sys.argv[1:4]
    made = split.split(whole_path, folder)
    target = tempfile.mktemp(suffix=".db", dir=folder)
    subprocess.run([command, "merge", "-o", target] + [path for path, _, _ in made], check=True)
    print(check(whole_path, target, made))
