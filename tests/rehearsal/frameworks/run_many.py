"""Many steps of a small model: neither the rehearsed program nor the recorder grows on the host.

    run_many.py [STEPS]

What is held at least in the last third of the steps is compared with what is held at least in the
middle third: what is on its way to the file makes the recorder larger and smaller all the time. See
run.py for the environment.
"""
import os
import subprocess
import sys
import tempfile

import compare
import run
from cases import Case

STEPS = 20000
# Bytes that a step may leave behind: a step has some 60 events, 24 of them blocks.
MOST = {"the program": 100, "the recorder": 1200}


def resident(pid):
    with open("/proc/%d/statm" % pid) as file:
        return int(file.read().split()[1]) * 4096


def watch(case, python, folder):
    """[(step, bytes of the program, bytes of the recorder)]"""
    path, counted = os.path.join(folder, "run.db"), os.path.join(folder, "counted")
    os.mkdir(counted)
    found = []
    with subprocess.Popen(run.command(case, python, path), stdout=subprocess.PIPE, text=True,
                          env=run.environment(case, counted), cwd=folder) as process:
        for line in process.stdout:
            words = line.split()
            if words[:1] == ["step"]:
                found.append((int(words[1]), int(words[3]), resident(process.pid)))
                print("step %d: program %d KiB, recorder %d KiB" % (
                    found[-1][0], found[-1][1] >> 10, found[-1][2] >> 10))
    run.expect(process.returncode, 0, "exit status")
    return found, path, counted


def grown(found, column):
    third = len(found) // 3
    middle, last = found[third:2 * third], found[2 * third:]
    return min(row[column] for row in last) - min(row[column] for row in middle)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    case = Case("many_steps.py", str(steps), steps=steps, said="")
    python = run.interpreter()
    if python is None:
        return 77
    with tempfile.TemporaryDirectory(prefix="tidemark-frameworks-") as folder:
        found, path, counted = watch(case, python, folder)
        run.expect([step for step, _, _ in found], list(range(1000, steps + 1, 1000)), "lines")
        for column, (what, most) in enumerate(MOST.items(), 1):
            by_step = grown(found, column) / (steps / 3)
            print("%s grew by %.0f bytes a step" % (what, by_step))
            run.expect(by_step < most, True, what + " grew")
        total, lines = compare.compare(path, counted)
        run.expect(lines, [], "recorded and counted")
        run.expect(total, 6, "figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
