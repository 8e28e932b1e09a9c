"""Convolutions of random shapes, forward and backward: the allocator's events on a GPU, and rehearsed.

    convolutions.py list FILE SECONDS [benchmark]   on the current device, for so long at most
    convolutions.py compare FILE FILE     a GPU's beside a rehearsal's: a line for each kernel and type

With `benchmark`, cuDNN tries its kernels, as `torch.backends.cudnn.benchmark` makes it do. The shapes are
the same in each run. FILE gets [[shape..., [[letter, size]]]]. What the model of
workspaces in rehearsal/libs/dnn_workspace.c is worth on shapes that it was not fitted to.
"""
import json
import random
import sys
import time

from ops import LETTERS, highest, read_sides

CHANNELS = (3, 4, 8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 640, 768,
            1024, 1280, 2048)
SIZES = (7, 8, 14, 16, 28, 32, 56, 64, 112, 128, 224)
LARGEST = 2 ** 27  # elements of a tensor


def shapes():
    """(batch, in, out, size, kernel, stride, groups): random ones, then some that differ in one thing."""
    chosen = random.Random(7)
    for _ in range(260):
        kernel, size = chosen.choice((1, 1, 3, 3, 3, 3, 5, 7)), chosen.choice(SIZES)
        into, out = chosen.choice(CHANNELS), chosen.choice(CHANNELS[2:])
        batch = chosen.choice((1, 2, 4, 8, 16, 32, 64))
        if batch * max(into, out) * size * size <= LARGEST:
            yield batch, into, out, size, kernel, chosen.choice((1, 1, 1, 2)), 1
    for width in (32, 64, 128, 256):
        for batch in (1, 8, 32):
            for size in (14, 28, 56):
                yield batch, width, width, size, 3, 1, 1
    for into in (64, 256, 1024):
        for out in (64, 256, 1024):
            for size in (7, 14, 28, 56):
                yield 8, into, out, size, 1, 1, 1
    for groups in (2, 4, 32):
        yield 8, 128, 128, 28, 3, 1, groups


def events_of(torch, shape, dtype, last):
    batch, into, out, size, kernel, stride, groups = shape
    memory = torch.cuda.memory
    layer = torch.nn.Conv2d(into, out, kernel, stride, kernel // 2, groups=groups, bias=False)
    layer, x = layer.to("cuda", dtype), torch.randn(batch, into, size, size, device="cuda", dtype=dtype)
    if last:
        layer, x = (one.to(memory_format=torch.channels_last) for one in (layer, x))
    x.requires_grad_()
    memory._record_memory_history("all", context=None, max_entries=100000)
    y = layer(x)
    y.backward(y.detach())
    trace = memory._snapshot()["device_traces"][torch.cuda.current_device()]
    memory._record_memory_history(None)
    return [[LETTERS[one["action"]], one["size"]] for one in trace if one["action"] in LETTERS]


def measure(seconds, benchmark):
    import torch
    torch.backends.cudnn.benchmark = benchmark
    begin, rows = time.monotonic(), []
    torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")
    for number, shape in enumerate(shapes()):
        for name in ("float16", "float32") + ("bfloat16",) * (number % 4 == 0):
            for last in (False, True):
                if time.monotonic() - begin < seconds:
                    rows.append([name, last, *shape,
                                 events_of(torch, shape, getattr(torch, name), last)])
    return rows


def compare(real, rehearsed):
    """A line for each kernel and type: how far off the highest point is, in percent."""
    ours = {json.dumps(row[:-1]): row[-1] for row in rehearsed}
    groups = {}
    for row in real:
        if json.dumps(row[:-1]) in ours:
            off = 100.0 * (highest(ours[json.dumps(row[:-1])]) / highest(row[-1]) - 1)
            groups.setdefault((row[6], row[0]), []).append(off)
    for (kernel, name), offs in sorted(groups.items()):
        offs.sort()
        yield "%dx%d %-8s %4d: median %+.1f %%, one in ten below %+.1f %%, above %+.1f %%, within 5 %%: %d" % (
            kernel, kernel, name, len(offs), offs[len(offs) // 2], offs[len(offs) // 10],
            offs[-1 - len(offs) // 10], sum(abs(off) <= 5 for off in offs))


def main(arguments):
    if len(arguments) in (3, 4) and arguments[0] == "list":
        rows = measure(float(arguments[2]), arguments[3:] == ["benchmark"])
        with open(arguments[1], "w") as file:
            json.dump(rows, file)
        print("%d convolutions" % len(rows))
        return 0
    if len(arguments) != 3 or arguments[0] != "compare":
        print(__doc__)
        return 2
    for line in compare(*read_sides(arguments[1:])):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
