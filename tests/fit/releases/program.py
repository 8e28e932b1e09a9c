"""program.py CASE: a few requests to PyTorch's allocator, and what its own counters say then, as one line
of JSON."""
import json
import sys

import torch

MIB = 1 << 20
GPU = "cuda"


def block(size):
    return torch.empty(size, dtype=torch.uint8, device=GPU)


def plain():
    """Requests and frees of two streams, by the same row of numbers everywhere."""
    seed, living = 12345, []
    streams = [torch.cuda.default_stream(), torch.cuda.Stream()]
    for _ in range(600):
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        if len(living) > 30 or (living and seed >> 8 & 1):
            living.pop((seed >> 12) % len(living))
            continue
        with torch.cuda.stream(streams[seed >> 9 & 1]):
            living.append(block(1000 + (seed >> 5) % (1 << (10 + (seed >> 10) % 15))))


def roundup():
    return [block(5200000) for _ in range(4)]


def limit():
    return [block(232 * MIB)]


def across(first, second):
    """What one stream has cached is in the way of the other."""
    one, other = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(one):
        block(first * MIB)
    with torch.cuda.stream(other):
        return [block(second * MIB)]


def beyond():
    return across(150, 150)


def wide():
    return across(2000, 2500)


def large():
    return [block(6 * MIB) for _ in range(4)]


def main():
    torch.cuda.init()
    refused = False
    try:
        kept = globals()[sys.argv[1]]()
    except torch.cuda.OutOfMemoryError:
        refused = True
    stats = torch.cuda.memory_stats()
    said = {"reserved": stats["reserved_bytes.all.peak"], "retries": stats["num_alloc_retries"],
            "rejections": stats.get("num_oom_rejections", 0), "refused": refused}
    print("SAID " + json.dumps(said))


main()
