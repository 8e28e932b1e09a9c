#!/usr/bin/env python3
"""check_pprof.py TIDEMARK FOLDER PPROF SNAPSHOTS DATA MAKE_FIXTURE [OWN]: the pprof that comes with Go
reads our profiles, and finds the sums of the recordings: of each sample type, and of what lives by
process and device."""
import collections
import os
import re
import shlex
import sys

import recordings

TYPES = ("inuse_objects", "inuse_space", "alloc_objects", "alloc_space")


def total(pprof, kind, path):
    text = recordings.run(*pprof, "-top", "-unit=B", "-nodecount=1", f"-sample_index={kind}", path)
    return int(re.search(r"of (\d+)B? total", text)[1])


def raw(pprof, path):
    """(process, device) to bytes and blocks that live, summed from all samples."""
    live, values = collections.Counter(), None
    lines = recordings.run(*pprof, "-raw", path).splitlines()
    for line in lines[lines.index("Samples:") + 2:lines.index("Locations")]:
        sample = re.match(r" *(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+): ", line)
        if sample:
            values, labels = [int(word) for word in sample.groups()], {}
            continue
        labels.update(re.findall(r"(process|device):\[([^]]*)\]", line))
        if "process" in labels and "device" in labels:
            at = labels.pop("process"), labels.pop("device")
            live[at, "bytes"] += values[1]
            live[at, "blocks"] += values[0]
    return live


def main():
    tidemark, folder, pprof, *rest = sys.argv[1:]
    if not pprof:
        print("no pprof of Go (TIDEMARK_GO_PPROF)")
        return 77
    compared, command = 0, shlex.split(pprof)
    for path in recordings.make(tidemark, folder, *rest):
        live = recordings.live_at_peak(path)
        if not live:
            continue
        made = recordings.export(tidemark, "pprof", path, folder)
        size, blocks = (sum(column) for column in zip(*live.values()))
        all_blocks, all_bytes = recordings.allocated(path)
        got = [total(command, kind, made) for kind in TYPES]
        assert got == [blocks, size, all_blocks, all_bytes], (path, got)
        found = raw(command, made)
        for (process, device), want in live.items():
            at = str(process), device
            assert (found[at, "bytes"], found[at, "blocks"]) == want, (path, at)
        compared += 1
        print(f"{os.path.basename(path)}: {size} bytes live, {all_bytes} allocated")
    assert compared >= 6
    print(f"{compared} recordings agree in {len(TYPES)} sample types")
    return 0


sys.exit(main())
