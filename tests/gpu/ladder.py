"""Whether what nobody accounts for grows: the line 'unattributed' of the ladder, at the end of the
optimizer in two steps.

    ladder.py TIDEMARK DATABASE FIRST LAST [DEVICE]

Exit status: 0 it grew by 2 MiB at most, 1 by more, 77 if this tidemark or the recording has no
figure for it, or knows nothing of what the device used.
"""
import json
import subprocess
import sys

MOST = 2 << 20


def rungs_of(tidemark, database, step, device):
    """The lines of the ladder at that moment, by what they are."""
    output = subprocess.run([tidemark, "ladder", database, "%d/optimizer" % step, "--device",
                             device, "--format", "json"], stdout=subprocess.PIPE).stdout
    rows = json.loads(output)["tables"]["ladder"] if output else []
    return {row["quantity"]: row for row in rows}


def unattributed_of(rungs):
    if rungs.get("device used", {}).get("bytes") is None:
        return None
    return rungs.get("unattributed", {}).get("gap_bytes")


def main():
    tidemark, database, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    device = sys.argv[5] if len(sys.argv) > 5 else "cuda:0"
    begin = unattributed_of(rungs_of(tidemark, database, first, device))
    end = unattributed_of(rungs_of(tidemark, database, last, device))
    if begin is None or end is None:
        print("skipped: the recording does not say what the device used, so nothing is unattributed")
        return 77
    print("figures: unattributed %.1f MiB behind step %d, %.1f MiB behind step %d" % (
        begin / 2 ** 20, first, end / 2 ** 20, last))
    return 0 if end - begin <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
