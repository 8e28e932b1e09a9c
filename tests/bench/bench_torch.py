"""bench_torch.py TIDEMARK PYTHON PROGRAM REPORTER: what recording costs an unmodified training program.

The variants of a round take turns; the figure of a round is its ratio to the bare run of the same
round, and the median of the rounds is reported. CPU time is that of the recorded process alone, read by
itself around its steps; the recorder's is on top and has rows of its own. What is slow and only there
for comparison takes part in every FEW_APART-th round, with fewer steps; the ratio is for a step.

REPORTER is null_reporter.so: torch reports every block, to a function that does nothing.
"""
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("TIDEMARK_BENCH_ROUNDS", "15"))
FEW_APART = 5


class Variant(object):
    def __init__(self, name, command, goal="for the record", seldom=False, environment=None):
        self.name, self.command, self.goal, self.seldom = name, command, goal, seldom
        self.environment = dict(os.environ, **(environment or {}))
        # One of each for a round: (a step's seconds, the bare step's).
        self.cpu, self.wall, self.ended = [], [], []

    def run(self):
        """Seconds of a step: CPU, wall, and CPU with its part of what a profiler does at its end."""
        done = subprocess.run(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, env=self.environment)
        if done.returncode:
            raise SystemExit("%s: exit %d\n%s" % (self.name, done.returncode, done.stderr))
        line, = [one for one in done.stdout.splitlines() if one.startswith("measured ")]
        cpu, wall, steps, end = [float(word) for word in line.split()[1:]]
        return cpu / steps, wall / steps, (cpu + end) / steps

    def measure(self, bare):
        cpu, wall, ended = self.run()
        self.cpu.append((cpu, bare[0]))
        self.wall.append((wall, bare[1]))
        if "--profiler" in self.command:
            self.ended.append((ended, bare[0]))

    def row(self, what, pairs, goal):
        if not pairs:
            return
        took, bare = (statistics.median(column) for column in zip(*pairs))
        ratio = statistics.median(a / b for a, b in pairs)
        print("| %s, %s | %.4g ms | %.4g ms | %.3f | %s |"
              % (what, self.name, took * 1e3, bare * 1e3, ratio, goal), flush=True)


class Model(object):
    """A size of the program, its variants, and what the recorder used."""

    def __init__(self, size, what, steps, variants):
        self.what = what
        self.plain = ["--model", size, "--steps", str(steps)]
        self.bare = Variant("bare", PROGRAM + self.plain)
        self.variants = variants(self.plain)
        self.recorder = []  # CPU nanoseconds for each stored allocation

    def round(self, number):
        bare = self.bare.run()
        for variant in self.variants:
            if variant.seldom and number % FEW_APART:
                continue
            clear(FOLDER)
            variant.measure(bare)
            if os.path.exists(DATABASE):
                self.recorder.append(recorder_cost(DATABASE))

    def report(self):
        for variant in self.variants:
            variant.row("CPU time of " + self.what, variant.cpu, variant.goal)
            variant.row("the same with its end", variant.ended, variant.goal)
        for variant in self.variants:
            variant.row("wall time of " + self.what, variant.wall, "for the record")
        print("| recorder CPU for each stored allocation, %s | %.2f us | - | - | <= 1.5 us |"
              % (self.what, statistics.median(self.recorder) / 1e3), flush=True)


def clear(folder):
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))


def recorder_cost(database):
    connection = sqlite3.connect(database)
    cpu, = connection.execute("SELECT sum(value) FROM overhead WHERE process IS NULL"
                              " AND what LIKE '%cpu%'").fetchone()
    count, = connection.execute("SELECT count(*) FROM allocation").fetchone()
    connection.close()
    return cpu / count


def recorded(plain):
    record = [TIDEMARK, "record", "-o", DATABASE]
    without = ["--no-stacks", "--phases", "off", "--"]
    return record + without + PROGRAM + plain, record + ["--"] + PROGRAM + plain


def profiled(plain, kind, steps):
    name = {"memory": "torch.profiler(profile_memory)", "stacks": "torch.profiler with stacks"}[kind]
    command = PROGRAM + plain[:2] + ["--steps", str(steps), "--profiler", kind]
    return Variant(name, command, "for comparison", seldom=True)


def heaptracked(plain):
    if not HEAPTRACK:
        return []
    command = [HEAPTRACK, "--raw", "-o", os.path.join(FOLDER, "heaptrack")] + PROGRAM + plain
    return [Variant("heaptrack", command, "for comparison", seldom=True)]


def typical(plain):
    without, everything = recorded(plain)
    return [
        Variant("without stacks and phases", without, "<= 1.02"),
        Variant("with stacks and phases", everything, "<= 1.05"),
        profiled(plain, "memory", 10),
        profiled(plain, "stacks", 10),
    ] + heaptracked(plain)


def tiny(plain):
    without, everything = recorded(plain)
    nobody = {"LD_PRELOAD": REPORTER}
    return [
        Variant("torch's own reports to nobody", PROGRAM + plain, environment=nobody),
        Variant("without stacks and phases", without),
        Variant("with stacks and phases", everything),
        profiled(plain, "memory", 30),
    ] + heaptracked(plain)


def main():
    models = [Model("typical", "a training step", 25, typical),
              Model("tiny", "a tiny model's step", 150, tiny)]
    for number in range(ROUNDS):
        for model in models:
            model.round(number)
    for model in models:
        model.report()
    if not HEAPTRACK:
        print("| CPU time of a training step, heaptrack | not installed | - | - | for comparison |")


TIDEMARK, PYTHON, PROGRAM, REPORTER = sys.argv[1:5]
PROGRAM = [PYTHON, PROGRAM]
HEAPTRACK = shutil.which("heaptrack")
FOLDER = tempfile.mkdtemp(prefix="tidemark-bench-")
DATABASE = os.path.join(FOLDER, "run.db")
try:
    main()
finally:
    shutil.rmtree(FOLDER)
