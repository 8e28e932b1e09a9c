"""Rehearses a program of programs/, and holds the recording against PyTorch's own counters.

    run.py NAME

The environment says with what: TIDEMARK (the command), TIDEMARK_VENV_CUDA (the folder of a virtual
environment with PyTorch's CUDA build). Exit status: 77 without it, or without a module that the
program needs.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

import compare
from cases import CASES

HERE = os.path.dirname(os.path.abspath(__file__))
GPU = "a100-80gb"
# The models are a few MiB: what the process of a rehearsal takes of the host beside its model.
HOST_MOST = 1 << 30


def expect(got, wanted, what):
    if got != wanted:
        raise AssertionError("%s\n  got    %r\n  wanted %r" % (what, got, wanted))


def interpreter():
    """The path of the environment's Python; None, and the reason printed."""
    folder = os.environ.get("TIDEMARK_VENV_CUDA")
    if not folder:
        print("skipped: TIDEMARK_VENV_CUDA names no virtual environment with PyTorch's CUDA build")
        return None
    path = os.path.join(folder, "bin", "python")
    found = os.access(path, os.X_OK)
    if not found:
        print("skipped: there is no", path)
    return path if found else None


def has(python, modules):
    code = "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(m) is None for m in %r))"
    return subprocess.run([python, "-c", code % (tuple(modules),)]).returncode == 0


def environment(case, counted):
    dropped = ("TIDEMARK_G", "TIDEMARK_H", "TIDEMARK_R", "PYTORCH_", "RANK", "LOCAL_RANK",
               "WORLD_SIZE", "MASTER_", "CUDA_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    kept.update(case.environment, TIDEMARK_COUNTED=counted, OMP_NUM_THREADS="1",
                PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1")
    return kept


def command(case, python, path):
    words = [os.environ["TIDEMARK"], "rehearse", "--gpu", GPU, "-o", path] + case.options
    program = [os.path.join(HERE, "counted.py"), os.path.join(HERE, "programs", case.program)]
    if case.ranks:
        words += ["--gpus", str(case.ranks), "--", python, "-m", "torch.distributed.run",
                  "--standalone", "--nproc-per-node", str(case.ranks)]
    else:
        words += ["--", python]
    return words + program + list(case.arguments)


def rehearse(case, python, folder):
    counted, work = os.path.join(folder, "counted"), os.path.join(folder, "work")
    path = os.path.join(folder, "run.db")
    os.mkdir(counted)
    os.mkdir(work)
    done = subprocess.run(command(case, python, path), env=environment(case, counted), cwd=work,
                          capture_output=True, text=True, timeout=840)
    sys.stdout.write(done.stderr[-4000:])
    expect(done.returncode, 0, "exit status\n" + done.stdout[-2000:])
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    expect(lines[-1:], [case.said], "the program's last line")
    expect("nothing was lost" in done.stderr, True, "tidemark's closing lines")
    return path, counted


# ---- what the recording says ----

def counters_agree(case, path, counted):
    total, lines = compare.compare(path, counted)
    expect(lines, [], "recorded and counted")
    expect(total >= 5 * max(case.ranks, 1), True, "figures that were compared: %d" % total)
    ordinals = sorted(ordinal for _, _, devices in compare.read_counted(counted)
                      for ordinal in devices)
    expect(ordinals, list(range(max(case.ranks, 1))), "devices that were used")
    return total


def steps_are_seen(case, db):
    # An evaluation is of no step.
    rows = db.execute(
        "SELECT ph.process, count(DISTINCT ph.step), group_concat(DISTINCT ph.kind) FROM phase ph "
        "WHERE ph.step NOT NULL OR ph.kind = 'eval' GROUP BY ph.process").fetchall()
    expect([row[1] for row in rows], [case.steps] * max(case.ranks, 1), "steps")
    for process, _, kinds in rows:
        missing = case.phases - set(kinds.split(","))
        expect(missing, set(), "phases that process %d has not" % process)


def nothing_is_odd(db):
    expect(db.execute("SELECT process, kind, detail FROM anomaly").fetchall(), [], "anomalies")
    expect(db.execute("SELECT * FROM torn").fetchall(), [], "torn")
    ends = db.execute("SELECT DISTINCT ended, exit_code FROM process WHERE id IN "
                      "(SELECT process FROM heap)").fetchall()
    expect(ends, [("exit", 0)], "how processes that have blocks ended")


def kinds_are_known(db):
    """Of each process: the optimizer's lists name parameters, gradients and states on the GPU."""
    rows = db.execute(
        "SELECT h.process, t.category, sum(a.size) FROM allocation a JOIN heap h ON h.id = a.heap "
        "JOIN device d ON d.id = h.device JOIN tag t ON t.id = a.tag "
        "WHERE d.kind = 'cuda' AND t.category <= 3 GROUP BY 1, 2").fetchall()
    processes = {row[0] for row in db.execute(
        "SELECT DISTINCT h.process FROM heap h JOIN device d ON d.id = h.device "
        "WHERE d.kind = 'cuda'")}
    for process in processes:
        found = {category for owner, category, size in rows if owner == process and size > 0}
        expect(found, {1, 2, 3}, "categories in process %d: %r" % (process, rows))


def report(name, path):
    done = subprocess.run([os.environ["TIDEMARK"], name, "--format", "json", path],
                          capture_output=True, text=True)
    expect(done.returncode, 0, "tidemark %s: %s" % (name, done.stderr))
    return json.loads(done.stdout)["tables"]


def reports_agree(path, counted):
    """The largest of all peaks is what `peak` says, and `phases` has it; `info` knows the GPU."""
    largest = max(stats["allocated_bytes.all.peak"] for _, _, devices in
                  compare.read_counted(counted) for stats in devices.values())
    peaks = [row["allocated"] for row in report("peak", path)["peak"]
             if row["device"].startswith("cuda")]
    expect(max(peaks), largest, "tidemark peak")
    rows = [row["max_allocated"] for row in report("phases", path)["phases"]
            if row["device"].startswith("cuda")]
    expect(max(rows), largest, "tidemark phases")
    expect("A100" in json.dumps(report("info", path)), True, "tidemark info names the GPU")


def host_is_spared(counted):
    for pid, host_peak, _ in compare.read_counted(counted):
        expect(host_peak < HOST_MOST, True, "pid %d held %d MiB" % (pid, host_peak >> 20))


def check(case, path, counted):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    total = counters_agree(case, path, counted)
    nothing_is_odd(db)
    steps_are_seen(case, db)
    kinds_are_known(db)
    host_is_spared(counted)
    reports_agree(path, counted)
    for _, host_peak, devices in compare.read_counted(counted):
        for ordinal, stats in devices.items():
            print("cuda:%d allocated %d, reserved %d, blocks %d, host %d MiB" % (
                ordinal, stats["allocated_bytes.all.peak"], stats["reserved_bytes.all.peak"],
                stats["allocation.all.allocated"], host_peak >> 20))
    print("%d figures equal" % total)


def main():
    case = CASES[sys.argv[1]]
    python = interpreter()
    if python is None:
        return 77
    if not has(python, ("torch",) + tuple(case.needs)):
        print("skipped: one of these is missing:", ", ".join(("torch",) + tuple(case.needs)))
        return 77
    with tempfile.TemporaryDirectory(prefix="tidemark-frameworks-") as folder:
        check(case, *rehearse(case, python, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
