#!/usr/bin/env python3
"""check_export.py TIDEMARK MAKE_FIXTURE FOLDER ROWS.sql...: every format of each of these recordings,
read by readers that are not ours, has the sums that the recording's own views have."""
import os
import sqlite3
import subprocess
import sys

import readers

FORMATS = "memory_viz perfetto chrome pprof speedscope collapsed csv".split()
HOSTILE = ["tab\tand \"quotes\", a comma", "a;b", "# no comment", "line\nfeed \r return", "\x1b[31mred",
           "</script><b>&amp;", "größe 测量", "x" * 3_000_000, " 12", "\x00"[:0] or "\\x3b"]


class Recording:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.db.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def ask(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def peaks(self):
        """(process, device) to bytes and blocks that live at the peak."""
        return {(p, d): (b, n) for p, d, b, n in self.ask(
            "SELECT process, device, sum(size), count(*) FROM live_at_peak GROUP BY 1, 2")}


def export(tidemark, form, path, *options):
    done = subprocess.run([tidemark, "export", "--to", form, path, "-o", "-", *options],
                          capture_output=True, check=False)
    assert done.returncode in (0, 3), done
    return done.stdout if done.returncode == 0 else None


def check_moment(name, recording, out):
    peaks = recording.peaks()
    total = sum(size for size, _ in peaks.values())
    assert sum(readers.collapsed(out["collapsed"]).values()) == total, name
    profiles, _ = readers.speedscope(out["speedscope"])
    assert sorted(sum(stacks.values()) for _, stacks in profiles) == sorted(
        size for size, _ in peaks.values()), name
    pprof = readers.Pprof(out["pprof"])
    assert pprof.default == "inuse_space"
    for at, (size, blocks) in peaks.items():
        assert (pprof.sums["inuse_space", *at], pprof.sums["inuse_objects", *at]) == (size, blocks)
    for process, device, blocks, size in recording.ask(
            "SELECT process, device, sum(blocks), sum(bytes) FROM site_total GROUP BY 1, 2"):
        assert pprof.sums["alloc_space", process, device] == size
        assert pprof.sums["alloc_objects", process, device] == blocks
    assert dict(pprof.categories) == {(p, d, c): b for p, d, c, b in recording.ask(
        "SELECT process, device, category, bytes FROM peak_by_category WHERE bytes > 0")}, name
    perfetto = readers.Perfetto(out["perfetto"])
    held = sorted(heap for heaps in perfetto.heaps.values() for heap in heaps)
    assert held == sorted(peaks.values()), name


def check_time(name, recording, out):
    phases = recording.ask("SELECT count(*) FROM phase WHERE scope <> 'range' AND kind <> 'other'")
    steps = recording.ask("SELECT count(*) FROM (SELECT DISTINCT process, step FROM phase"
                          " WHERE step IS NOT NULL AND scope = 'process')")
    count = phases[0][0] + steps[0][0]
    perfetto = readers.Perfetto(out["perfetto"])
    chrome, names, refusals = readers.chrome(out["chrome"])
    assert sum(n for at, n in perfetto.slices.items() if at[2] == 1) == count, name
    assert sum(n for at, n in perfetto.slices.items() if at[2] == 2) == count, name
    assert sorted(names) == sorted(perfetto.names) and len(names) == count, name
    refused = recording.ask("SELECT count(*) FROM oom")[0][0]
    assert refusals == refused == perfetto.refusals, name
    for process, device, allocated in recording.ask("SELECT process, device, allocated FROM peak"):
        assert perfetto.counters[process, f"allocated {device}"] == allocated, name
    assert sorted(v for (_, what), v in chrome.items() if what.startswith("allocated")) == sorted(
        v for (_, what), v in perfetto.counters.items() if what.startswith("allocated")), name
    for process, size in recording.ask("SELECT process, sum(size) FROM allocations GROUP BY 1"):
        assert sum(w for at, w in perfetto.weights.items() if at[0] == process) == size, name


BALANCE = """WITH change AS (
  SELECT a.seq AS at, 1 AS way, coalesce(a.requested, a.size) AS bytes FROM allocation a JOIN heap h ON h.id = a.heap
   WHERE h.process = ?1 AND h.device = ?2
  UNION ALL
  SELECT max(a.free_seq, coalesce(i.seq, 0)), 0, -coalesce(a.requested, a.size)
    FROM allocation a JOIN heap h ON h.id = a.heap LEFT JOIN idle i ON i.allocation = a.seq
   WHERE h.process = ?1 AND h.device = ?2 AND a.free_seq >= 0)
SELECT max(now) FROM (SELECT sum(bytes) OVER (ORDER BY at, way) AS now FROM change)"""


def check_snapshot(name, recording, data):
    """The highest sum of what was asked for and is not free again, by a question of SQL."""
    snapshot = readers.Snapshot(data)
    device = dict(recording.ask("SELECT id, CASE kind WHEN 'cpu' THEN 0 ELSE max(ordinal, 0) END FROM device"))
    fullest = recording.ask("SELECT p FROM (SELECT process AS p, allocated AS a FROM peak UNION ALL"
                            " SELECT min(process), -1 FROM heap) ORDER BY a DESC, p LIMIT 1")[0][0]
    gpu = recording.ask("SELECT count(*) FROM heap h JOIN device d ON d.id = h.device"
                        " WHERE h.process = ? AND d.kind <> 'cpu'", fullest)[0][0]
    for at, place in device.items():
        kind = recording.ask("SELECT kind FROM device WHERE id = ?", at)[0][0]
        blocks = recording.ask("SELECT count(*) FROM allocation a JOIN heap h ON h.id = a.heap"
                               " WHERE h.process = ? AND h.device = ?", fullest, at)[0][0]
        if not blocks or (gpu and kind == "cpu"):
            continue
        assert snapshot.blocks[place] == blocks, (name, snapshot.blocks, blocks)
        assert snapshot.peaks[place] == recording.ask(BALANCE, fullest, at)[0][0], name


def check_rows(name, recording, data):
    got = {int(row["allocation"]): row for row in readers.rows(data)}
    want = recording.ask("SELECT a.allocation, a.size, a.phase, a.freed_phase, c.category, c.rule"
                         " FROM allocations a JOIN allocation_category c USING (allocation)")
    assert len(got) == len(want), name
    for allocation, size, phase, freed, category, rule in want:
        row = got[allocation]
        same = (row["size"], row["category"], row["rule"]) == (str(size), category, rule)
        assert same and bool(row["freed_phase"]) == bool(freed), (name, row)
        assert bool(row["phase"]) == bool(phase), (name, row)


def check(tidemark, path):
    name, recording = os.path.basename(path), Recording(path)
    print(name, flush=True)
    more = {"perfetto": ["--blocks", "0"]}
    out = {form: export(tidemark, form, path, *more.get(form, [])) for form in FORMATS}
    if not recording.ask("SELECT count(*) FROM allocation")[0][0]:
        assert out["memory_viz"] is None and not out["collapsed"], name
        return 0
    check_moment(name, recording, out)
    check_time(name, recording, out)
    check_snapshot(name, recording, out["memory_viz"])
    check_rows(name, recording, out["csv"])
    return 1


def check_hostile(tidemark, path):
    """Names that would end a line, a string or a frame in some format."""
    db = sqlite3.connect(path)
    for at, text in enumerate(HOSTILE):
        db.execute("INSERT OR REPLACE INTO string VALUES(?, ?)", (1000 + at, text))
        db.execute("INSERT INTO frame VALUES(?, ?, ?, 7)", (1000 + at, 1000 + at, 1000 + at))
        db.execute("INSERT INTO site VALUES(?, 0, ?)", (1000 + at, 1000 + at))
    db.execute("INSERT INTO string VALUES(2000, CAST(x'6261ff64' AS TEXT))")
    db.execute("INSERT INTO frame VALUES(2000, 2000, 2000, 7)")
    db.execute("INSERT INTO site VALUES(2000, 0, 2000)")
    db.execute("UPDATE phase SET name = ? WHERE kind = 'forward'", (HOSTILE[3],))
    blocks = [row[0] for row in db.execute("SELECT allocation FROM live_at_peak ORDER BY 1")]
    count = len(HOSTILE) + 1
    assert len(blocks) >= count
    for at in range(count):
        site = 1000 + at if at < len(HOSTILE) else 2000
        db.execute("UPDATE allocation SET site = ? WHERE seq = ?", (site, blocks[at]))
    db.commit()
    db.close()
    check(tidemark, path)
    stacks = readers.collapsed(export(tidemark, "collapsed", path))
    assert sum(len(stack) == 1 for stack in stacks) >= count, stacks.keys()
    names = HOSTILE + ["ba\ufffdd"]
    _, frames = readers.speedscope(export(tidemark, "speedscope", path))
    assert set(names) <= set(frames)
    pprof = readers.Pprof(export(tidemark, "pprof", path))
    assert {(name,) for name in names} <= set(pprof.stacks)
    snapshot = readers.Snapshot(export(tidemark, "memory_viz", path))
    found = {frame["name"] for event in snapshot.all["device_traces"][0]
             for frame in event.get("frames", [])}
    assert set(names) <= found


def main():
    tidemark, make_fixture, folder, *sources = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    compared = 0
    for source in sources:
        path = os.path.join(folder, os.path.basename(source).replace(".sql", ".db"))
        if os.path.exists(path):
            os.remove(path)
        subprocess.run([make_fixture, path, source], check=True)
        compared += check(tidemark, path)
        if os.path.basename(source) == "train.sql":
            check_hostile(tidemark, path)
        os.remove(path)
    assert compared >= 8, compared
    print(f"{compared} recordings agree in {len(FORMATS)} formats")


main()
