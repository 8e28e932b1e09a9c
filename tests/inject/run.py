"""run.py INJECT MAKE_FIXTURE PROG DATA [--guest GUEST] WHAT [options]

Runs a command again and again; each time one call of it fails, or it and all behind it. What has to
be true of every run is in judge.py, the commands are in scenes.py, the calls in plans.py.

WHAT: record, keep, size, private: recordings; report, follow, export, import, repair, output: the others.

Which calls: without an option the first 10 of a kind are tried one by one, and then ever fewer,
until a run in which so many are not made. --few: as much of that as fits a run of all tests: fewer
forms of a command; of a recording with a limit only what has to do with its file; and each command
takes one in three of the plans, the next command the next ones, so that every plan has its commands
and every command its plans, plans.ALWAYS always (without --few, label slow: each with each). --sites: each call stack from
which a call is made (sites.h); of each the first call, the second and the last. A stack counts if its part inside of
the commands is new, or its outer part is new to the command; with --far, for builds that are slow,
only the latter, and only the first call. --all N: the first 500, and then each Nth (1: all).
--only: the plans with that word; --first: from that call on. --jobs N: so many side by side.
--scene: of several recordings only this one, by what the others have not.
"""
import argparse
import concurrent.futures
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import scenes as all_scenes
from judge import Run, Wrong, judge_unwritten
from plans import ALL, ALWAYS, GROUPS, ONCE

FIRST, GROWTH = 10, 1.7  # one by one so far, then so many times further
FEW_FIRST, FEW_GROWTH = 3, 5  # with --few
FEW_SHARE = 3  # with --few: of so many plans one, unless there are fewer commands
LARGE_FIRST, LARGE_GROWTH = 2, 20  # of scenes that make a hundred times as many calls
LARGE_FEW_GROWTH = 200
FIRST_OF_ALL = 500  # with --all N: one by one so far, then each Nth
ENTRY = struct.Struct("=7Q24s")  # struct sites_entry
LOOKS = 4  # at the sites of a command that does not make the same calls each time


def earlier(nth):
    """Behind so many calls a site is looked for in such a command, where it was seen at the nth."""
    return max(0, nth - 6 - nth // 20)


class Site:
    def __init__(self, number, count, first, second, last, far, near, name):
        self.number, self.name = number, name.rstrip(b"\0").decode()
        self.far, self.near = far, near
        self.count, self.first, self.second, self.last = count, first, second, last

    def join(self, other):
        """Where it may be met in any run."""
        self.count = max(self.count, other.count)
        self.first = min(self.first, other.first)
        self.last = min(self.last, other.last)

    def turns(self, steady, only_first):
        """(which one, behind how many calls) of the first, the second and the last."""
        if only_first:
            return [(1, self.first - 1 if steady else earlier(self.first))]
        if steady:
            nths = {self.first, self.second if self.count > 1 else self.first, self.last}
            return [(1, nth - 1) for nth in sorted(nths)]
        begin, late = earlier(self.first), earlier(self.last)
        turns = [(1, begin)] + ([(2, begin)] if self.count > 1 else [])
        return turns + ([(1, late)] if self.count > 2 and late > self.first else [])


def read_sites(path):
    with open(path, "rb") as file:
        return {entry[0]: Site(*entry) for entry in ENTRY.iter_unpack(file.read()) if entry[0]}


class Sum:
    """Of one row of the table at the end."""

    def __init__(self):
        self.runs = self.missed = 0
        self.calls, self.sites = {}, set()  # calls by scene and name


def numbers(every, first, large, few):
    at = first
    if large:
        so_far, growth = LARGE_FIRST, LARGE_FEW_GROWTH if few else LARGE_GROWTH
    else:
        so_far, growth = (FEW_FIRST, FEW_GROWTH) if few else (FIRST, GROWTH)
    while True:
        yield at
        if every:
            at += 1 if at < FIRST_OF_ALL else every
        else:
            at = at + 1 if at < so_far else int(at * growth)


def stack_of(program, where):
    """The functions of a stack that inject.c wrote, if there is somebody who can tell."""
    frames = where.split()[3:]
    try:
        # An address is where a call returns to: the call itself is before it.
        calls = [hex(int(at, 16) - 1) for at in frames]
        told = subprocess.run(["addr2line", "-fsie", program, *calls], capture_output=True,
                              text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return ""
    return " < ".join(told[::2][:24])


class Driver:
    def __init__(self, options):
        self.options = options
        self.share = FEW_SHARE if options.few else 1
        self.runs = self.wrong = 0
        self.sums = {name: Sum() for name, _ in GROUPS}
        self.tried = {}  # by command and plan, or by plan: sites and parts of them
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)

    # ---- one run ----

    def one(self, scene, plan, inject):
        run = scene.run(dict(INJECT_CALL=plan.calls, INJECT_FOR=str(plan.run),
                             INJECT_CODE=str(plan.code), **inject))
        found = None
        try:
            scene.judge(run)
        except (Wrong, sqlite3.Error) as problem:
            found = "FAIL %s: %s, exit status %d, %s of %s\n    %s\n%s" % (
                scene.name, problem, run.code,
                " ".join("%s=%s" % pair for pair in sorted(inject.items())), plan,
                stack_of(self.options.inject, run.where) or run.where,
                "".join("    %s\n" % line for line in run.err.splitlines()[:12]))
        reached = run.where.split()[2] if run.where else None
        run.close()
        return reached, found

    def take(self, group, reached, found):
        self.runs += 1
        self.sums[group].runs += 1
        if found:
            self.wrong += 1
            print(found, flush=True)

    # ---- one by one ----

    def count_up(self, scene, group, plan):
        """All n of a plan; those of one batch side by side."""
        few = self.options.few and not (scene.large and plan == ALWAYS)
        at = numbers(self.options.all, self.options.first, scene.large, few)
        met, more = 0, True
        while more:
            batch = [next(at) for _ in range(self.options.jobs * (1 if few else 2))]
            for reached, found in self.pool.map(
                    lambda n: self.one(scene, plan, {"INJECT_AT": str(n)}), batch):
                self.take(group, reached, found)
                met += reached is not None
                more = more and reached is not None
        if self.options.all:
            print("%s: %s: %d calls" % (scene.name, plan, met), flush=True)

    # ---- by call stacks ----

    def look(self, scene, calls):
        """The sites of a command in which nothing fails."""
        sites = {}
        for _ in range(1 if scene.steady else LOOKS):
            with tempfile.NamedTemporaryFile(prefix="inject-sites-") as table:
                run = scene.run({"INJECT_CALL": calls, "INJECT_SITES": table.name})
                run.close()
                for number, site in read_sites(table.name).items():
                    if number in sites:
                        sites[number].join(site)
                    else:
                        sites[number] = site
        return sites

    def try_site(self, scene, plan, site, turn):
        """Where calls come in another order each time, it is looked for from the first call on if
        it was not met; and then in another run."""
        at, skip = turn
        for behind in (skip,) if scene.steady else (skip, skip, 0):
            inject = {"INJECT_SITE": "%016x" % site.number, "INJECT_AT": str(at),
                      "INJECT_SKIP": str(behind)}
            reached, found = self.one(scene, plan, inject)
            if found or reached:
                break
        return reached, found

    def new_sites(self, scene, plan, sites):
        """Those that are to be tried; from now on they have been."""
        alls = self.tried.setdefault((scene.command[1], plan), set())
        fars = self.tried.setdefault((scene.command[1], plan, "far"), set())
        nears = self.tried.setdefault((plan, "near"), set())
        new = []
        for site in sorted(sites, key=lambda site: site.first):
            far, near = site.far not in fars, site.near not in nears
            if site.number not in alls and (far or (near and plan.run == ONCE
                                                    and not self.options.far)):
                new.append(site)
            alls.add(site.number)
            fars.add(site.far)
            nears.add(site.near)
        return new

    def by_sites(self, scene, group, plan, only_new):
        """`only_new`: they count as tried, for the sake of a scene that comes after."""
        sites = self.look(scene, plan.calls).values()
        new = self.new_sites(scene, plan, sites)
        if only_new:
            return
        total = self.sums[group]
        for name in {site.name for site in sites}:
            total.calls[scene.name, name] = sum(site.count for site in sites if site.name == name)
        total.sites.update(site.number for site in sites)
        # Where all calls fail from there on, the second and the last say nothing new.
        only_first = plan.run == ALL or self.options.far
        turns = [(site, turn) for site in new for turn in site.turns(scene.steady, only_first)]
        missed = 0
        for reached, found in self.pool.map(lambda pair: self.try_site(scene, plan, *pair), turns):
            self.take(group, reached, found)
            missed += reached is None
        total.missed += missed
        if turns:
            print("%s: %s: %d calls, %d sites, %d of them tried, %d runs, %d not met" %
                  (scene.name, plan, sum(site.count for site in sites), len(sites), len(new),
                   len(turns), missed), flush=True)

    # ---- all of it ----

    def wanted(self, scene, number):
        """[(group, plan)]: those of the scene whose turn it is at this number."""
        every = [(group, plan) for group, plans in GROUPS for plan in plans if plan in scene.plans]
        turn = every[number % self.share::self.share]
        turn += [pair for pair in every if pair[1] == ALWAYS and pair not in turn]
        return [(group, plan) for group, plan in turn
                if (self.options.only or "") in "%s %s" % (scene.name, plan)]

    def scene(self, scene, number, counted_before=False):
        wanted = self.wanted(scene, number)
        if counted_before and not self.options.sites:
            return
        if wanted:
            scene.prepare()
        for group, plan in wanted:
            if self.options.sites:
                self.by_sites(scene, group, plan, counted_before)
            else:
                self.count_up(scene, group, plan)

    def output(self, folder):
        """A full disk and a closed pipe as stdout."""
        files = all_scenes.fixtures(self.options, folder)
        reports = ["peak", "phases", "why", "ladder", "leaks", "frag", "fit", "info", "diff", "sql",
                   "timeline", "repair"]
        more = {"diff": ["after.db"], "sql": ["SELECT * FROM allocation"]}
        commands = [[name, "train.db", *more.get(name, []), "-f", form]
                    for name in reports for form in all_scenes.FORMS]
        commands += [["--help"], ["--version"], ["peak", "--help"],
                     ["check", "train.db", "--max-peak", "1GiB"], ["sql", "train.db", "--schema"]]
        for command in commands:
            if (self.options.only or "") in " ".join(command):
                self.one_output(command, files.values())

    def one_output(self, command, files):
        for what in ("full", "closed"):
            if what == "full":
                end = os.open("/dev/full", os.O_WRONLY)
            else:
                reader, end = os.pipe()
                os.close(reader)
            run = Run([self.options.inject, *command], files=files, stdout=end)
            os.close(end)
            self.runs += 1
            try:
                judge_unwritten(run, what)
            except Wrong as problem:
                self.wrong += 1
                print("FAIL %s: stdout is %s: %s\n%s" % (" ".join(command), what, problem, run.err),
                      flush=True)
            run.close()

    def table(self):
        for name, total in self.sums.items():
            if total.runs and self.options.sites:
                print("%-28s %7d calls %6d sites %7d runs %5d not met" %
                      (name, sum(total.calls.values()), len(total.sites), total.runs, total.missed))


def options_of():
    parser = argparse.ArgumentParser()
    for name in ("inject", "make_fixture", "prog", "data", "what"):
        parser.add_argument(name)
    parser.add_argument("--guest")
    parser.add_argument("--all", type=int)
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--far", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--scene")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", type=int, help="of the recording that is too large")
    options = parser.parse_args()
    options.steps = options.steps or (500 if options.few else 1000)
    for name in ("inject", "make_fixture", "prog", "data", "guest"):
        if getattr(options, name):  # the commands run in folders of their own
            setattr(options, name, os.path.abspath(getattr(options, name)))
    return options


RECORDINGS = ("record", "keep", "private", "size")  # three of them share all plans, with --few


def main():
    options = options_of()
    if options.what in RECORDINGS:
        if not options.guest:
            print("skipped: there is no guest in this build")
            sys.exit(77)
        os.environ["TIDEMARK_GUEST"] = options.guest
    began = time.monotonic()
    driver = Driver(options)
    with tempfile.TemporaryDirectory(prefix="inject-") as folder:
        if options.what == "output":
            driver.output(folder)
        elif options.what in RECORDINGS:
            first = RECORDINGS.index(options.what)
            for number, scene in enumerate(all_scenes.record_scenes(options, options.what), first):
                counted = scene.name == "keep" != options.what
                driver.scene(scene, number, counted or scene.name != (options.scene or scene.name))
        else:
            make = {"report": all_scenes.report_scenes, "follow": all_scenes.follow_scenes,
                    "export": all_scenes.export_scenes,
                    "import": all_scenes.import_scenes, "repair": all_scenes.repair_scenes}
            scenes = make[options.what](options, folder)
            driver.share = min(driver.share, len(scenes))
            for number, scene in enumerate(scenes):
                driver.scene(scene, number)
    driver.table()
    print("%d runs, %d wrong, %.1f minutes" % (driver.runs, driver.wrong,
                                               (time.monotonic() - began) / 60))
    sys.exit(1 if driver.wrong else 0)


main()
