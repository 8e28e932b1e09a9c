"""The reports of one recording: csv, json and tables say the same; parts add up to wholes; filters
cut a report into pieces that are the report again."""
import json
import subprocess
from collections import defaultdict

from account import check, same

TABLES = ("allocation", "phase", "phase_device", "mark", "oom", "segment", "tag", "process", "heap",
          "stretch", "curve", "frame", "string", "anomaly", "meta")
VIEWS = ("phase_table", "peak", "live_at_peak", "allocations", "timeline", "peak_by_category",
         "peak_by_site", "fragmentation", "leak")


class Text(str):
    """A cell of csv that was quoted or not empty; None stands for one that was neither."""


def read_csv(text):
    """RFC 4180 with a bare newline at the end of a line, and nothing that it does not allow."""
    rows, row, at = [], [], 0
    check(text == "" or text.endswith("\n"), "the last line of csv has no end")
    while at < len(text):
        if text[at] == '"':
            cell, at = "", at + 1
            while True:
                end = text.index('"', at)
                cell, at = cell + text[at:end], end + 1
                if text[at] != '"':
                    break
                cell, at = cell + '"', at + 1
            row.append(Text(cell))
        else:
            end = at
            while text[end] not in ",\n":
                check(text[end] not in '"\r', "a bare %r in csv", text[end])
                end += 1
            row.append(Text(text[at:end]) if end > at else None)
            at = end
        check(text[at] in ",\n", "csv: %r behind a cell", text[at])
        if text[at] == "\n":
            rows.append(row)
            row = []
        elif text[at + 1] == "\n":
            row.append(None)
            at += 1
            rows.append(row)
            row = []
        at += 1
    return rows


def sections(rows, first):
    """Name -> (columns, rows). A section that is not the only one begins with '# NAME'."""
    found, name, columns = {}, first, None
    for at, row in enumerate(rows):
        alone = len(row) == 1
        if alone and row[0] is not None and row[0].startswith("# ") and columns is None:
            name = row[0][2:]
        elif alone and row[0] is None and at + 1 < len(rows) and str(rows[at + 1][0]).startswith("# "):
            columns = None
        elif columns is None:
            columns = row
            check(name not in found, "section %s twice", name)
            found[name] = (columns, [])
        else:
            same(len(row), len(columns), "cells of a row of %s", name)
            found[name][1].append(row)
    return found


class Reports:
    def __init__(self, tidemark, path):
        self.tidemark, self.path = tidemark, path

    def ask(self, *arguments):
        run = subprocess.run((self.tidemark,) + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        same((run.returncode, run.stderr), (0, b""), "tidemark %s", " ".join(arguments))
        return run.stdout.decode()

    def json(self, command, *arguments):
        def unique(pairs):
            same(len(pairs), len(dict(pairs)), "a key twice: %r" % (pairs,))
            return dict(pairs)
        whole = json.loads(self.ask(command, "-f", "json", self.path, *arguments),
                           object_pairs_hook=unique, parse_constant=lambda word: check(False, word))
        same((whole["command"], whole["database"]), (command, self.path), "what json says it is")
        return whole["tables"]

    def csv(self, command, *arguments):
        first = {"phases": "phases", "sql": "result"}.get(command)
        return sections(read_csv(self.ask(command, "-f", "csv", self.path, *arguments)), first)

    def both(self, command, *arguments):
        """The tables of json, once those of csv have been found to be the same."""
        tables, text = self.json(command, *arguments), self.csv(command, *arguments)
        same(list(text), list(tables), "sections of %s", command)
        for name, rows in tables.items():
            columns, cells = text[name]
            same(len(cells), len(rows), "rows of %s", name)
            for row, line in zip(rows, cells):
                same(columns, list(row), "columns of %s", name)
                for cell, value in zip(line, row.values()):
                    if isinstance(value, float):
                        same(float(cell), value, "a number in %s", name)
                    else:
                        same(cell, None if value is None else str(value), "a cell of %s", name)
        return tables


def check_sql(reports, db):
    for name in TABLES + VIEWS:
        sql = "SELECT * FROM " + name
        rows = reports.both("sql", sql)["result"]
        want = db.execute(sql).fetchall()
        same(len(rows), len(want), "rows of %s", name)
        for got, row in zip(rows, want):
            same(got, dict(zip(row.keys(), row)), "a row of %s", name)


def human_bytes(n):
    """base/human.h in its own words."""
    sign, n = "-" if n < 0 else "", abs(n)
    if n < 1024:
        return "%s%d B" % (sign, n)
    for below, unit, name in ((2 ** 20, 2 ** 10, "KiB"), (10 * 2 ** 30, 2 ** 20, "MiB"),
                              (10 * 2 ** 40, 2 ** 30, "GiB"), (None, 2 ** 40, "TiB")):
        if below is None or n < below:
            one = "%.1f" % (n / unit)
            return "%s%s %s" % (sign, one if float(one) < 100 else "%.0f" % (n / unit), name)


def check_phases(reports, db):
    rows = reports.both("phases")["phases"]
    view = db.execute("SELECT * FROM phase_table").fetchall()
    same(len(rows), len(view), "rows of phases")
    known = {(r["phase_id"], r["device"]): r for r in view}
    for row in rows:
        want = known[row["phase_id"], row["device"]]
        shared = [key for key in row if key in want.keys()]
        check(len(shared) > 15, "phases has columns of phase_table")
        same({key: row[key] for key in shared}, {key: want[key] for key in shared}, "a row of phases")
    parents = {row["phase_id"]: row["parent_id"] for row in rows}
    scopes = defaultdict(list)
    for row in rows:
        scopes[row["process"], row["device"]].append(row)
        depth, parent = 0, row["parent_id"]
        while parent in parents:
            depth, parent = depth + 1, parents[parent]
        check(row["depth"] <= depth, "deeper than its parents")
    check_filters(reports, rows, scopes)
    for (process, device), part in scopes.items():
        check_table(reports, process, device, part)
    return scopes


def check_filters(reports, rows, scopes):
    for (process, device), part in scopes.items():
        same(reports.json("phases", "-p", str(process), "-d", device)["phases"], part, "--process --device")
    for key, option in (("process", "-p"), ("device", "-d")):
        values = sorted({row[key] for row in rows})
        pieces = sum((reports.json("phases", option, str(value))["phases"] for value in values), [])
        same(sorted(map(json.dumps, pieces)), sorted(map(json.dumps, rows)), "%s cuts phases" % option)
    steps = sorted({row["step"] for row in rows if row["step"] is not None})
    middle = steps[len(steps) // 2] if steps else 0
    cut = {"..%d" % (middle - 1): lambda s: s < middle, "%d" % middle: lambda s: s == middle,
           "%d.." % (middle + 1): lambda s: s > middle}
    if middle == 0:
        del cut["..-1"]
    for steps, inside in cut.items():
        got = reports.json("phases", "--steps=" + steps)["phases"]
        want = [dict(row) for row in rows if row["step"] is not None and inside(row["step"])]
        for row in got + want:
            del row["depth"]  # counts the phases around it that are in the report
        same(got, want, "--steps %s", steps)


def check_table(reports, process, device, rows):
    """The lines that people read, in the same order, with the same numbers."""
    lines = reports.ask("phases", "--all", "-p", str(process), "-d", device, reports.path).split("\n")
    high = lines[1]
    lines = lines[3:next(i for i, line in enumerate(lines + [""]) if not line)]
    same(len(lines), len(rows), "lines of phases")
    for line, row in zip(lines, rows):
        at = 0
        numbers = ["allocated", "max_allocated", "reserved", "max_reserved", "phase_peak"]
        for key in numbers:
            if row[key] is not None:
                text = human_bytes(row[key])
                check(text in line[at:], "%s of %r is not %s", key, line, text)
                at = line.index(text, at) + len(text)
        check(row["step"] is None or line.split()[0] == str(row["step"]), "the step of %r", line)
    top = max(row["phase_peak"] for row in rows)
    check(high.startswith("highest: %s in " % human_bytes(top)), "%s is not %d", high, top)


def check_peaks(reports, db, scopes):
    tables = reports.both("peak", "--top", "1000000")
    where = {(row["process"], row["device"]): row for row in tables["peak"]}
    same(sorted(where), sorted(scopes), "processes and devices of peak")
    for row in db.execute("SELECT * FROM peak"):
        got = where[row["process"], row["device"]]
        shared = ("step", "phase", "at_ns", "allocated", "reserved", "kind", "seq", "phase_id")
        same([got[key] for key in shared], [row[key] for key in shared], "a row of peak")
    check_parts(tables, where, scopes)
    for process, device in scopes:
        of = lambda table: [r for r in tables[table] if (r["process"], r["device"]) == (process, device)]
        cut = reports.json("peak", "--top", "1000000", "-p", str(process), "-d", device)
        same(cut, {name: of(name) for name in tables}, "peak of one process and device")
    top = reports.json("peak", "--top", "2")
    for name in ("by_phase", "by_site"):
        places = defaultdict(int)
        for row in tables[name]:
            places[row["process"], row["device"]] += 1
            if places[row["process"], row["device"]] <= 2:
                same(top[name].pop(0), row, "--top 2 of %s", name)
        check(not top[name], "--top 2 shows more than two")


def check_parts(tables, where, scopes):
    for key, row in where.items():
        bytes, blocks = row["allocated"], row["live_blocks"]
        same(row["live_bytes"], bytes, "what lived at the peak of %s" % (key,))
        same(row["before_bytes"] + row["added_bytes"], bytes, "before and added")
        same(row["before_blocks"] + row["added_blocks"], blocks, "before and added")
        same(bytes, max(phase["phase_peak"] for phase in scopes[key]), "the highest of all phases")
        for name in ("by_category", "by_phase", "by_site"):
            part = [r for r in tables[name] if (r["process"], r["device"]) == key]
            same(sum(r["bytes"] for r in part), bytes, "%s adds up", name)
            same(sum(r["blocks"] for r in part), blocks, "blocks of %s", name)
            sizes = [r["bytes"] for r in part]
            same(sizes, sorted(sizes, reverse=True), "the largest comes first in %s", name)
            for r in part:
                check(abs(r["share"] - (r["bytes"] / bytes if bytes else 0)) < 1e-9, "a share")
        ladder = [r for r in tables["ladder"] if (r["process"], r["device"]) == key]
        rungs = {r["quantity"]: r for r in ladder}
        same([q for q in rungs if q != "unattributed"][:5],
             ["requested", "allocated", "active", "reserved",
              "RSS" if row["device"] == "cpu" else "this process on the device"], "rungs")
        same((rungs["allocated"]["bytes"], rungs["reserved"]["bytes"]), (bytes, row["reserved"]),
             "the ladder")
        known = [r for r in ladder if r["bytes"] is not None and r["quantity"] != "unattributed"]
        if row["device"] == "cpu":
            known.pop()  # the machine's memory: its gap is what is available
        for below, rung in zip([None] + known, known):
            same(rung["gap_bytes"], rung["bytes"] - below["bytes"] if below else None, "a gap")


def check_steps(reports, scopes):
    """The peak of one step is the highest of that step's phases, whatever came before."""
    highest = defaultdict(dict)
    for key, rows in scopes.items():
        for row in rows:
            if row["step"] is not None:
                steps = highest[row["step"]]
                steps[key] = max(steps.get(key, 0), row["phase_peak"])
    for step in sorted(highest)[::max(1, len(highest) // 6)]:
        tables = reports.json("peak", "--steps", str(step))
        got = {(row["process"], row["device"]): row["allocated"] for row in tables["peak"]}
        same(got, highest[step], "peaks of step %d", step)
        for row in tables["peak"]:
            same(row["live_bytes"], row["allocated"], "what lived at the peak of step %d", step)
            same(row["before_bytes"] + row["added_bytes"], row["allocated"], "before and added")


def check_info(reports, db):
    tables = reports.both("info")
    recording = tables["recording"][0]
    meta = {row["key"]: row["value"] for row in tables["meta"]}
    same((recording["file"], recording["finished"], recording["duration_ns"]),
         (reports.path, 1, meta["run_ns"]), "info: the recording")
    for row in tables["rows"]:
        what = "count(DISTINCT site)" if row["table"] == "site" else "count(*)"
        same(row["rows"], db.execute("SELECT %s FROM %s" % (what, row["table"])).fetchone()[0],
             "info: rows of %s", row["table"])
    processes = db.execute("SELECT * FROM process ORDER BY id").fetchall()
    same(len(tables["processes"]), len(processes), "info: processes")
    for got, row in zip(tables["processes"], processes):
        same(got["process"], row["id"], "info: a process")
        shared = [key for key in got if key in row.keys()]
        same([got[key] for key in shared], [row[key] for key in shared], "info: a process")
        one = reports.json("info", "-p", str(row["id"]))
        same(one["processes"], [got], "info of one process")
    same(sum(row["heaps"] for row in tables["devices"]),
         db.execute("SELECT count(*) FROM heap").fetchone()[0], "info: heaps")
    for name, table in (("trouble", "anomaly"), ("overhead", "overhead")):
        kinds = db.execute("SELECT count(*) FROM (SELECT DISTINCT process, %s FROM %s)" %
                           (("kind", table) if name == "trouble" else ("what", table))).fetchone()[0]
        torn = db.execute("SELECT count(*) FROM (SELECT DISTINCT process, why FROM torn)").fetchone()[0]
        same(len(tables[name]), kinds + (torn if name == "trouble" else 0), "info: %s", name)


def check_all(tidemark, path, db):
    reports = Reports(tidemark, path)
    check_sql(reports, db)
    scopes = check_phases(reports, db)
    check_peaks(reports, db, scopes)
    check_steps(reports, scopes)
    check_info(reports, db)
