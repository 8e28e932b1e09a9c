"""Runs a program as `python3 PROGRAM ARGUMENTS` does, and writes down what torch.cuda counted when it
is over, as one JSON file for each process that used CUDA.

    counted.py PROGRAM ARGUMENTS...

TIDEMARK_COUNTED names the folder. torch.cuda's peaks have to be those of the whole process, as
Tidemark's are: a program that resets them is noted, and what it had before is kept.
"""
import json
import os
import runpy
import sys

KEYS = ("allocated_bytes.all.peak", "reserved_bytes.all.peak", "allocated_bytes.all.current",
        "reserved_bytes.all.current", "allocation.all.allocated", "segment.all.allocated",
        "num_ooms", "num_alloc_retries")


def host_peak():
    """Bytes of the host's memory that this process held at most."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None


def watch_resets(torch, kept):
    """Before the program sets a peak back, what it was."""
    inner = torch._C._cuda_resetPeakMemoryStats

    def reset(device):
        before = torch.cuda.memory_stats(device)
        for key in KEYS:
            if key.endswith(".peak"):
                kept[device, key] = max(kept.get((device, key), 0), before.get(key, 0))
        return inner(device)

    torch._C._cuda_resetPeakMemoryStats = reset


def counters(torch, kept):
    found = {}
    for device in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats(device)
        if stats.get("allocation.all.allocated"):
            found[device] = {key: max(stats.get(key, 0), kept.get((device, key), 0))
                             for key in KEYS}
    return found


def write_down(torch, kept):
    if not torch.cuda.is_initialized():
        return
    path = os.path.join(os.environ["TIDEMARK_COUNTED"], "%d.json" % os.getpid())
    with open(path, "w") as file:
        json.dump({"pid": os.getpid(), "torch": torch.__version__, "host_peak": host_peak(),
                   "devices": counters(torch, kept)}, file)


def main():
    import torch
    kept = {}
    watch_resets(torch, kept)
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        write_down(torch, kept)


if __name__ == "__main__":
    main()
