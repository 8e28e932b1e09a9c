"""The same programs on a GPU and rehearsed as on it: how far the figures are apart.

    truth.py record TIDEMARK OUT WORKERS [FOLDER]          on the machine with the GPU
    truth.py rehearse TIDEMARK OUT WORKERS GPU [FOLDER]    there or elsewhere, with the same packages
    truth.py compare OUT

The programs are those of tests/rehearsal/frameworks that want one GPU, samples/torch, and what lies in
FOLDER: its programs.json has [[name, [word...], {variable: value}]], and words that are files there
are taken from there. Such a program may come to any end, if it is the same one on both sides. WORKERS
programs run at once; TIDEMARK_TRUTH_ONLY names some. A recording is held against torch.cuda's own
counters, to the byte; then the two against each other, into OUT/truth.json and a line for each.

Exit status: 0 every recording agrees with the counters, 1 one does not, or a program came to another
end rehearsed.
"""
import concurrent.futures
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMEWORKS = os.path.join(HERE, "..", "rehearsal", "frameworks")
SNAPSHOTS = os.path.join(HERE, "..", "rehearsal", "truth")
SAMPLES = os.path.join(HERE, "..", "..", "samples", "torch")
sys.path[:0] = [FRAMEWORKS, SNAPSHOTS]

import compare  # noqa: E402: of the folders above
from cases import CASES  # noqa: E402
from snapshots import in_any_order  # noqa: E402

MIB = float(1 << 20)
LONGEST = 300  # seconds for one run


class Program(object):
    """`own`: of this project, so that it must end with 0."""

    def __init__(self, name, words, environment, options=(), own=True):
        self.name, self.words, self.environment = name, list(words), environment
        self.options, self.own = list(options), own


def own_programs():
    for name, case in sorted(CASES.items()):
        if not case.ranks:
            path = os.path.join(FRAMEWORKS, "programs", case.program)
            yield Program(name, [path] + list(case.arguments), case.environment, case.options)
    for name, script, arguments in (("seq2seq", "seq2seq.py", ["--full"]), ("rnn", "rnn.py", []),
                                    ("rnn_flat", "rnn.py", ["--flatten"]), ("gpt2", "gpt2.py", [])):
        yield Program("sample_" + name, [os.path.join(SAMPLES, script), "--device", "cuda"] +
                      arguments, {})


def strangers(folder):
    with open(os.path.join(folder, "programs.json")) as file:
        for name, words, environment in json.load(file):
            yield Program(name, [os.path.join(folder, word) if
                                 os.path.exists(os.path.join(folder, word)) else word
                                 for word in words], environment, own=False)


def programs(folders):
    every = list(own_programs()) + [one for folder in folders
                                    for one in strangers(os.path.abspath(folder))]
    only = os.environ.get("TIDEMARK_TRUTH_ONLY", "").split()
    return [one for one in every if not only or one.name in only]


# ---- one run ----

def run(program, words, folder):
    """The exit status; None: it was ended."""
    counted, work = os.path.join(folder, "counted"), os.path.join(folder, "work")
    shutil.rmtree(folder, ignore_errors=True)
    for path in (counted, work):
        os.makedirs(path)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TIDEMARK_R", "PYTORCH_"))}
    environment.update(program.environment, TIDEMARK_COUNTED=counted, OMP_NUM_THREADS="2",
                       PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1",
                       TORCHINDUCTOR_CACHE_DIR=os.path.join(work, "inductor"),
                       TRITON_CACHE_DIR=os.path.join(work, "triton"))
    command = words + ["-o", os.path.join(folder, "run.db")] + program.options + [
        "--", "timeout", "-s", "INT", "-k", "10", str(LONGEST - 20), sys.executable,
        os.path.join(FRAMEWORKS, "counted.py")] + program.words
    with open(os.path.join(folder, "said.txt"), "w") as log:
        try:
            return subprocess.run(command, env=environment, cwd=work, stdout=log, stderr=log,
                                  stdin=subprocess.DEVNULL, timeout=LONGEST).returncode
        except subprocess.TimeoutExpired:
            return None


# ---- what a recording has ----

class Recorded(object):
    """The process with the most blocks on cuda:0: its peaks, and [(letter, size)] in order, but for
    frees with no allocation between them (snapshots.in_any_order says why)."""

    def __init__(self, path):
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        rows = db.execute(
            "SELECT h.process, h.id, d.id, count(*) FROM allocation a JOIN heap h ON h.id = a.heap "
            "JOIN device d ON d.id = h.device WHERE d.kind = 'cuda' AND d.ordinal = 0 "
            "GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 1").fetchall()
        self.allocated = self.reserved = 0
        self.events = []
        if not rows:
            return
        process, heap, device, _ = rows[0]
        self.allocated, self.reserved = db.execute(
            "SELECT max(pd.max_allocated), max(pd.max_reserved) FROM phase_device pd JOIN phase ph "
            "ON ph.id = pd.phase WHERE ph.process = ? AND pd.device = ?", (process, device)).fetchone()
        changes = []
        for seq, size, freed in db.execute("SELECT seq, size, free_seq FROM allocation WHERE "
                                           "heap = ?", (heap,)):
            changes.append((seq, "a", size))
            if freed >= 0:
                changes.append((freed, "f", size))
        self.events = in_any_order([change[1:] for change in sorted(changes)])

    def sizes(self):
        return Counter(size for letter, size in self.events if letter == "a")


def same_events(one, other):
    for index, (mine, theirs) in enumerate(zip(one, other)):
        if mine != theirs:
            return index
    return min(len(one), len(other))


def off(ours, theirs):
    return 100.0 * (ours / theirs - 1) if theirs else 0.0


def pairs(counts):
    return [[size, count] for size, count in counts.most_common(40)]


def judge(name, folder):
    """A dictionary of figures; `wrong` has what must not be."""
    found = {"name": name, "wrong": []}
    recorded = {}
    for side in ("gpu", "rehearsed"):
        here = os.path.join(folder, side)
        with open(os.path.join(here, "end.json")) as file:
            found[side] = json.load(file)
        path = os.path.join(here, "run.db")
        if not os.path.exists(path):
            found["wrong"].append("nothing was recorded: " + side)
            return found
        if os.listdir(os.path.join(here, "counted")):
            found[side]["counted"], lines = compare.compare(path, os.path.join(here, "counted"))
            found["wrong"] += ["%s: %s" % (side, line) for line in lines]
        recorded[side] = Recorded(path)
    if found["gpu"]["status"] != found["rehearsed"]["status"]:
        found["wrong"].append("ends %s and %s" % (found["gpu"]["status"],
                                                  found["rehearsed"]["status"]))
    real, ours = recorded["gpu"], recorded["rehearsed"]
    found.update(allocated=[real.allocated, ours.allocated], reserved=[real.reserved, ours.reserved],
                 events=[len(real.events), len(ours.events)],
                 same=same_events(real.events, ours.events), equal=real.events == ours.events,
                 gpu_alone=pairs(real.sizes() - ours.sizes()),
                 rehearsed_alone=pairs(ours.sizes() - real.sizes()))
    return found


def line_of(found):
    if "allocated" not in found:
        return "%-28s %s" % (found["name"], "; ".join(found["wrong"]))
    (real, ours), (kept, kept_ours) = found["allocated"], found["reserved"]
    return "%-28s allocated %9.1f %9.1f %+6.2f %%  reserved %8.0f %8.0f %+6.2f %%  %s of %d events%s" % (
        found["name"], real / MIB, ours / MIB, off(ours, real), kept / MIB, kept_ours / MIB,
        off(kept_ours, kept), "all" if found["equal"] else found["same"], found["events"][0],
        "".join("; " + one for one in found["wrong"]))


def compare_all(out):
    every = []
    for name in sorted(os.listdir(os.path.join(out, "truth"))):
        folder = os.path.join(out, "truth", name)
        if not all(os.path.exists(os.path.join(folder, side, "end.json"))
                   for side in ("gpu", "rehearsed")):
            print("%-28s not run on both" % name)
            continue
        try:
            every.append(judge(name, folder))
        except (sqlite3.Error, TypeError) as error:
            every.append({"name": name, "wrong": [repr(error)]})
        print(line_of(every[-1]), flush=True)
    with open(os.path.join(out, "truth.json"), "w") as file:
        json.dump(every, file, indent=1)
    wrong = [found for found in every if found["wrong"]]
    print("figures: %d programs, %d with the same blocks in the same order, %d with something wrong" % (
        len(every), sum(bool(found.get("equal")) for found in every), len(wrong)))
    return 1 if wrong or not every else 0


def run_all(side, command, out, workers, folders):
    def one(program):
        folder = os.path.join(out, "truth", program.name, side)
        begin = time.monotonic()
        status = run(program, command, folder)
        seconds = time.monotonic() - begin
        with open(os.path.join(folder, "end.json"), "w") as file:
            json.dump({"status": status, "seconds": seconds}, file)
        print("%-28s %s after %.0f s" % (program.name, status, seconds), flush=True)
        return program.own and status != 0
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return 1 if any(list(pool.map(one, programs(folders)))) else 0


def main():
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "compare":
        return compare_all(*rest)
    tidemark, out, workers = os.path.abspath(rest[0]), os.path.abspath(rest[1]), int(rest[2])
    if what == "record":
        return run_all("gpu", [tidemark, "record"], out, workers, rest[3:])
    return run_all("rehearsed", [tidemark, "rehearse", "--gpu", rest[3]], out, workers, rest[4:])


if __name__ == "__main__":
    sys.exit(main())
