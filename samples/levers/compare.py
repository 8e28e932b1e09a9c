"""compare.py TIDEMARK PROGRAM LEVER BEFORE.db AFTER.db [OPTION...]: what `tidemark peak` promised of
a change in the recording BEFORE, and what came in AFTER, where it was made. One line; exit status 0
if the promise was kept, 1 if it was not. Options are peak's, as --rank 0.

Kept: a plain promise is within 1 % of what came. An estimated one is within 10 %, or, of a GPU, whose
allocator leaves up to 1 MiB at the end of a block as it comes, within that. An "at most" is no less
than what came, and no more than twice of it. Nothing promised: less than 1 % of the peak came."""
import json
import subprocess
import sys

UNSPLIT = 1 << 20  # of PyTorch's allocator for GPUs


def read(tidemark, path, options):
    """The highest of a GPU where one was used, and its levers."""
    done = subprocess.run([tidemark, "peak", path, "-f", "json"] + options, stdout=subprocess.PIPE,
                          check=True, universal_newlines=True)
    tables = json.loads(done.stdout)["tables"]
    highest = max(tables["peak"], key=lambda row: (row["device"] != "cpu", row["allocated"] or 0))
    levers = [row for row in tables["levers"]
              if (row["process"], row["device"]) == (highest["process"], highest["device"])]
    return highest, levers


def judge(row, came, peak, on_gpu):
    """The grade of the promise, and whether it was kept."""
    if row is None:
        return "", came < peak / 100
    promised = row["bytes"]
    if row["at_most"]:
        return "at most", came <= promised <= 2 * came
    if row["estimated"]:
        return "about", abs(promised - came) <= max(came / 10, UNSPLIT if on_gpu else 0)
    return "", abs(promised - came) <= came / 100


def main():
    tidemark, program, lever, before, after = sys.argv[1:6]
    options = sys.argv[6:]
    highest, levers = read(tidemark, before, options)
    peak = highest["allocated"]
    came = peak - read(tidemark, after, options)[0]["allocated"]
    row = next((row for row in levers if row["lever"] == lever), None)
    grade, kept = judge(row, came, peak, highest["device"] != "cpu")
    promised = "%s %d" % (grade, row["bytes"]) if row else "nothing"
    print("%-20s %-24s %11d %19s %11d  %5.1f %%  %s" % (
        program, lever, peak, promised.strip(), came, 100 * came / peak,
        "kept" if kept else "NOT KEPT"))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
