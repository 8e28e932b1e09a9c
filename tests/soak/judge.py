"""The verdict on a soak: what was sampled, and what the database has of what the programs counted.

    judge.py TIDEMARK FOLDER [--brief] [--max-size SIZE]

Prints a report and writes it to FOLDER/report.txt; the exit status is 1 if something did not hold.
--brief: a run too short to tell a slope. --max-size: what the recorder was given, as it was given.
"""
import argparse
import os
import re
import sqlite3
import subprocess
import sys
import time

from ledger import EXECS, EXITS, MODES, Ledger

MIB = 1048576.0
# All processes each, thousands of them; tables have the largest only.
REPORTS = [["info"], ["phases"], ["phases", "--format", "csv"], ["peak"],
           ["peak", "--format", "json"], ["why"], ["why", "--format", "csv"],
           ["leaks", "--format", "csv"], ["ladder", "--format", "csv"],
           ["frag", "--format", "csv"], ["fit", "--format", "csv"],
           ["timeline", "--format", "csv"], ["check", "--max-peak", "1TiB"],
           ["check", "--max-peak", "1TiB", "--format", "json"],
           ["sql", "SELECT count(*) FROM allocation"]]
REPORT_SECONDS = 600
# What the programs do on purpose: threads die inside phases, children free blocks of their parent.
ANOMALIES = "kind = 'phase left open' OR kind = 'free without allocation' AND detail LIKE '%fork'"


class Verdict(object):
    def __init__(self):
        self.lines, self.failures = [], 0

    def say(self, text):
        self.lines.append(text)
        print(text, flush=True)

    def hold(self, good, text):
        self.failures += not good
        self.say("%s  %s" % ("ok    " if good else "FAILED", text))


def line_through(xs, ys):
    """Least squares: slope, its standard error, mean of ys."""
    n = float(len(xs))
    mx, my = sum(xs) / n, sum(ys) / n
    sxx = sum((x - mx) ** 2 for x in xs) or 1.0
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sxx
    rest = sum((y - my - slope * (x - mx)) ** 2 for x, y in zip(xs, ys))
    return slope, (rest / max(n - 2, 1) / sxx) ** 0.5, my


def read_table(path):
    with open(path) as file:
        names = file.readline().split()
        return [dict(zip(names, line.rstrip("\n").split("\t"))) for line in file]


def column(samples, name):
    return [float(sample[name]) for sample in samples]


# ---- what was sampled ----


def judge_slope(verdict, samples, name, what, allowed_mib, since):
    """From a part of the run on: no new names are made in its second half, but a program says some
    for the first time a while later."""
    last = [s for s in samples if float(s["at"]) >= float(samples[-1]["at"]) * since]
    seconds = column(last, "at")
    slope, error, mean = line_through(seconds, column(last, name))
    length = seconds[-1] - seconds[0]
    events = (float(last[-1]["events"]) - float(last[0]["events"])) / 1e6
    images = float(last[-1]["images"]) - float(last[0]["images"])
    grown = slope * length
    verdict.say("        %s: %.2f MiB in the mean, %.2f to %.2f; last %.0f s %+.3f MiB (+- %.3f)"
                % (what, mean / MIB, min(column(last, name)) / MIB, max(column(last, name)) / MIB,
                   length, grown / MIB, error * length / MIB))
    verdict.say("        that is %+.1f KiB for a million events, %+.0f bytes for a process that came"
                " and went" % (grown / 1024 / max(events, 1e-9), grown / max(images, 1)))
    verdict.hold(grown < max(allowed_mib * MIB, 3 * error * length),
                 "%s is flat: less than %.2f MiB more" % (what, max(allowed_mib, 3 * error * length
                                                                    / MIB)))


def size_in_bytes(text):
    """As the command takes it: 4096, 300MB (10^6), 16MiB and 512M (2^20)."""
    match = re.match(r"^(\d+(?:\.\d+)?) *(?:([kmgt])(i?b)?|b?)$", text, re.IGNORECASE)
    if not match:
        raise ValueError("%s is no size" % text)
    unit, end = match.group(2), (match.group(3) or "").lower()
    power = "kmgt".index(unit.lower()) + 1 if unit else 0
    return int(float(match.group(1)) * (1000 if end == "b" else 1024) ** power)


def judge_size(verdict, samples, limit):
    """What --max-size promises, of the file and its log together, at every sample."""
    sums = [float(s["database"]) + float(s["log"]) for s in samples]
    verdict.hold(sums and max(sums) <= limit, "the file and its log: at most %.1f MiB of %.1f, over"
                 " it in %d of %d samples" % (max(sums or [0]) / MIB, limit / MIB,
                                              sum(s > limit for s in sums), len(sums)))


def judge_losses(verdict, lost):
    """Losses are said, so the sums can hold all the same; a soak is there to have none."""
    verdict.hold(lost == 0, "lost %d: not a pass" % lost if lost else "no event was lost")


def judge_samples(verdict, samples, brief, limit=None):
    verdict.hold(samples, "%d samples were taken" % len(samples))
    if not samples:
        return
    if limit is not None:
        judge_size(verdict, samples, limit)
    warm = [s for s in samples if float(s["at"]) > 5] or samples
    third = max(len(warm) // 3, 1)
    first, last = warm[:third], warm[-third:]
    for name, what in (("fds", "descriptors"), ("threads", "threads")):
        before, behind = max(column(first, name)), max(column(last, name))
        verdict.hold(brief or behind <= before + 3, "%s of the recorder: at most %d in the first third,"
                     " %d in the last" % (what, before, behind))
    most = max(column(samples, "anonymous"))
    verdict.hold(most < 64 * MIB, "anonymous memory of the recorder: at most %.1f MiB"
                 % (most / MIB))
    guest = column(last, "guest_anonymous")
    twin = [value for value in column(last, "twin_anonymous") if value]
    verdict.say("        the program that stays: %.2f MiB anonymous, %.2f MiB of the ring; its twin"
                " without Tidemark %.2f MiB" % (max(guest) / MIB,
                                                max(column(last, "guest_shared")) / MIB,
                                                max(twin or [0]) / MIB))
    verdict.hold(max(guest) < 8 * MIB, "anonymous memory of the program that stays is small")
    if not brief:
        judge_slope(verdict, samples, "anonymous", "anonymous memory of the recorder", 0.5,
                    0.5)
        judge_slope(verdict, samples, "guest_anonymous", "that of the program that stays",
                    0.1, 0.67)
        verdict.say("        the recorder used %.1f %% of one core"
                    % (float(samples[-1]["recorder_ticks"]) / os.sysconf("SC_CLK_TCK")
                       / float(samples[-1]["at"]) * 100))


def judge_sides(verdict, path, brief=False):
    rows = read_table(path)
    late = [float(row["short_s"]) for row in rows if row["finished"] == "0"]
    # In a brief run on a machine that is busy the first one may not have been reached.
    verdict.hold((rows or brief) and
                 all(row["integrity"] == "ok" and row["program"] == "2" for row in rows),
                 "%d recorders killed: every file opens and is sound, every program ran on"
                 % len(rows))
    # Looked at every 20 ms, and the machine has other things to do; more of them beside a test run.
    verdict.hold(brief or (late and max(late) <= 1.25),
                 "such a file is %.2f s short in the mean, %.2f at most"
                 % (sum(late) / max(len(late), 1), max(late or [0])))


# ---- the database ----


def ask(base, sql):
    return base.execute(sql).fetchall()


def stored_by_slot(base):
    """slot: process, events, lost, torn; and slot: blocks, bytes of its own heap, thinned too."""
    processes, blocks = {}, {}
    for row in ask(base, """SELECT max(h.pool) - 1, p.id, coalesce(p.events, 0),
        coalesce((SELECT sum(n) FROM lost l WHERE l.process = p.id), 0),
        coalesce((SELECT count(*) FROM torn t WHERE t.process = p.id), 0)
        FROM process p JOIN heap h ON h.process = p.id WHERE h.pool > 0 AND h.name = 'soak'
        GROUP BY p.id ORDER BY p.id"""):
        # Who was killed before it had a slot has its parent's heaps, and came behind it.
        processes.setdefault(row[0], row[1:])
    for slot, count, size in ask(base, """SELECT h.pool - 1, sum(n), sum(s) FROM (
        SELECT heap, count(*) AS n, sum(size) AS s FROM allocation GROUP BY heap
        UNION ALL SELECT heap, sum(blocks), sum(bytes) FROM site_sum GROUP BY heap)
        JOIN heap h ON h.id = heap WHERE h.name = 'soak' GROUP BY h.id, h.pool"""):
        old = blocks.get(slot, (0, 0))
        blocks[slot] = (old[0] + count, old[1] + size)
    return processes, blocks


def is_exact(slot, process, blocks):
    _, events, lost, torn = process
    if lost:
        return events + lost == slot.events
    return events == slot.events and not torn and blocks == (slot.allocs, slot.bytes)


def is_enough(slot, process):
    _, events, lost, torn = process
    return slot.events <= events + lost + torn and events <= slot.events + slot.threads


def judge_sums(verdict, base, ledger):
    processes, blocks = stored_by_slot(base)
    exact, killed, wrong = 0, 0, []
    for slot in ledger.slots():
        process = processes.get(slot.number, (None, 0, 0, 0))
        ended = slot.state in (EXITS, EXECS)
        good = is_exact(slot, process, blocks.get(slot.number, (0, 0))) if ended \
            else is_enough(slot, process)
        exact, killed = exact + ended, killed + (not ended)
        if not good:
            wrong.append("%s slot %d state %d: counted %d (%d blocks, %d bytes), stored %s %s"
                         % (MODES[slot.mode], slot.number, slot.state, slot.events, slot.allocs,
                            slot.bytes, process, blocks.get(slot.number)))
    for text in wrong[:10]:
        verdict.say("        " + text)
    verdict.hold(exact and not wrong, "%d images that ended in good order: events, blocks and bytes"
                 " as they counted; %d that were killed: no less than they had published"
                 % (exact, killed))
    verdict.say("        %d events counted" % sum(slot.events for slot in ledger.slots()))


def judge_database(verdict, folder, ledger, status):
    path = os.path.join(folder, "run.db")
    base = sqlite3.connect(path)
    verdict.hold(status == 0, "the recorder's exit status is %d" % status)
    verdict.hold(ask(base, "PRAGMA integrity_check") == [("ok",)], "integrity_check")
    verdict.hold(ask(base, "SELECT value FROM meta WHERE key = 'finished'") == [(1,)], "finished")
    lost, torn = ask(base, "SELECT (SELECT coalesce(sum(n), 0) FROM lost),"
                           " (SELECT count(*) FROM torn)")[0]
    judge_losses(verdict, lost)
    verdict.say("        %d events lost, %d torn; %d process images; %.1f MiB" %
                (lost, torn, ask(base, "SELECT count(*) FROM process")[0][0],
                 os.stat(path).st_size / MIB))
    for kind, count in ask(base, "SELECT kind, count(*) FROM anomaly GROUP BY 1"):
        verdict.say("        anomaly: %s, %d rows" % (kind, count))
    for what, count in ask(base, "SELECT what, sum(n) FROM thinned GROUP BY 1"):
        verdict.say("        thinned: %d %s" % (count, what))
    odd = ask(base, "SELECT count(*) FROM anomaly a WHERE NOT (%s) AND NOT EXISTS"
              " (SELECT 1 FROM lost WHERE process = a.process)" % ANOMALIES)[0][0]
    verdict.hold(odd == 0, "no anomaly but those that the programs make on purpose")
    judge_sums(verdict, base, ledger)
    base.close()


def judge_reports(verdict, tidemark, folder):
    path = os.path.join(folder, "run.db")
    for report in REPORTS + [["diff", path]]:
        begun = time.time()
        try:
            done = subprocess.run([tidemark, report[0], path] + report[1:], timeout=REPORT_SECONDS,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            status, said = done.returncode, done.stderr.decode("utf-8", "replace").strip()
        except subprocess.TimeoutExpired:
            status, said = -1, "not over after %d s" % REPORT_SECONDS
        # A limit is not passed where events were lost; that was said above.
        good = status == 0 or (status == 1 and report[0] == "check")
        verdict.hold(good, "%s: exit status %d after %.1f s %s"
                     % (" ".join(report[:1] + report[-2:] * ("--format" in report)), status, time.time() - begun, said[-200:]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidemark")
    parser.add_argument("folder")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--max-size", type=size_in_bytes)
    options = parser.parse_args()
    tidemark, folder = options.tidemark, options.folder
    verdict = Verdict()
    with open(os.path.join(folder, "status")) as file:
        status = int(file.read())
    samples = read_table(os.path.join(folder, "samples.tsv"))
    ledger = Ledger(os.path.join(folder, "ledger"))
    judge_samples(verdict, samples, options.brief, options.max_size)
    judge_sides(verdict, os.path.join(folder, "sides.tsv"), options.brief)
    judge_database(verdict, folder, ledger, status)
    judge_reports(verdict, tidemark, folder)
    with open(os.path.join(folder, "report.txt"), "w") as file:
        file.write("\n".join(verdict.lines) + "\n")
    return 1 if verdict.failures else 0


if __name__ == "__main__":
    sys.exit(main())
