"""bench_torch.py TIDEMARK PROGRAM PYTHON: what recording costs an unmodified training program.

Rounds of all variants take turns; each round's figure is a ratio to the bare run of the same round, and
the median of the rounds is reported. CPU time is the program's own, measured by itself around its
steps; the recorder's is on top and stands in a row of its own.
"""
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("TIDEMARK_BENCH_ROUNDS", "15"))
STEPS = 60


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    cpu, wall, steps = done.stdout.split()[-3:]
    return float(cpu) / int(steps), float(wall) / int(steps)


def recorder_cost(database):
    """CPU nanoseconds of the recorder for each stored allocation."""
    connection = sqlite3.connect(database)
    cpu, = connection.execute("SELECT sum(value) FROM overhead WHERE process IS NULL"
                              " AND what LIKE '%cpu%'").fetchone()
    count, = connection.execute("SELECT count(*) FROM allocation").fetchone()
    connection.close()
    return cpu / count


def row(what, values, goal, unit=""):
    print(f"| {what} | {statistics.median(values):.3f}{unit} | - | - | {goal} |", flush=True)


def main():
    tidemark, program, python = sys.argv[1:4]
    folder = tempfile.mkdtemp(prefix="tidemark-bench-")
    database = os.path.join(folder, "run.db")
    record = [tidemark, "record", "-o", database]
    plain = [python, program, "--steps", str(STEPS)]
    variants = {
        "without stacks and phases": record + ["--no-stacks", "--phases", "off", "--"] + plain,
        "with stacks and phases": record + ["--"] + plain,
        "torch.profiler(profile_memory)": plain + ["--profiler", "memory"],
        "torch.profiler with stacks": plain + ["--profiler", "stacks"],
    }
    cpu = {name: [] for name in variants}
    wall = {name: [] for name in variants}
    recorder = []
    for _ in range(ROUNDS):
        bare = run(plain)
        for name, command in variants.items():
            if os.path.exists(database):
                os.remove(database)
            took = run(command)
            cpu[name].append(took[0] / bare[0])
            wall[name].append(took[1] / bare[1])
            if command[0] == tidemark:
                recorder.append(recorder_cost(database))
    shutil.rmtree(folder)
    goals = {"without stacks and phases": "<= 1.02", "with stacks and phases": "<= 1.05"}
    for name in variants:
        goal = goals.get(name, "for comparison")
        row(f"CPU time of the training, {name} / bare", cpu[name], goal)
        row(f"wall time of the training, {name} / bare", wall[name], "for the record")
    row("recorder's CPU for each stored allocation", [ns / 1000 for ns in recorder], "<= 1.5 us",
        " us")


main()
