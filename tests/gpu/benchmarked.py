"""What cuDNN's convolutions ask of PyTorch's allocator when cudnn.benchmark tries its kernels.

    benchmarked.py FILE SECONDS SHAPES [PART OF [rule]]   each OF-th shape of SHAPES from PART on

SHAPES has [[dims, batch, in, out, size, kernel, stride, padding, dilation, groups, transposed]]. FILE gets a line
for each shape, type and layout: [type, channels last, shape..., [forward, x, w]], where each of the three is
[with trials, again] and has the bytes of the blocks, the result's first; or the error in place of the three.
With `rule` no kernel is tried: PyTorch keeps what it chose first for a shape, so that one process
cannot tell both.
"""
import json
import sys
import time

TYPES = ("float32", "float16", "bfloat16")
LARGEST = 2 ** 26  # elements of a tensor
KEPT = 2 << 30  # bytes that PyTorch may keep for the next one: others share the GPU


def blocks(torch, run):
    memory = torch.cuda.memory
    memory._record_memory_history("all", context=None, max_entries=100000)
    result = run()
    trace = memory._snapshot()["device_traces"][torch.cuda.current_device()]
    memory._record_memory_history(None)
    del result
    return [one["size"] for one in trace if one["action"] == "alloc"]


def asked(torch, shape, kind, last):
    """[forward, x, w]; None: more than LARGEST."""
    dims, batch, into, out, size, kernel, stride, padding, dilation, groups, transposed = shape
    aten = torch.ops.aten
    wide = (into, out // groups) if transposed else (out, into // groups)
    reach = size * stride if transposed else size // stride
    if batch * max(into * size ** dims, out * reach ** dims) > LARGEST:
        return None
    x = torch.randn(batch, into, *[size] * dims, device="cuda", dtype=kind)
    w = torch.randn(*wide, *[kernel] * dims, device="cuda", dtype=kind)
    if last:
        form = torch.channels_last if dims == 2 else torch.channels_last_3d
        x, w = x.contiguous(memory_format=form), w.contiguous(memory_format=form)
    how = ([stride] * dims, [padding] * dims, [dilation] * dims, bool(transposed), [0] * dims, groups)
    made = []
    runs = [lambda: made.append(aten.convolution(x, w, None, *how)),
            lambda: aten.convolution_backward(made[0], x, w, None, *how, [True, False, False]),
            lambda: aten.convolution_backward(made[0], x, w, None, *how, [False, True, False])]
    return [[blocks(torch, run), blocks(torch, run)] for run in runs]


def main(arguments):
    import torch
    path, seconds, shapes = arguments[:3]
    part, parts = (int(one) for one in (arguments[3:5] or (0, 1)))
    torch.backends.cudnn.benchmark = "rule" not in arguments[5:]
    begin, count, refused = time.monotonic(), 0, 0
    torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")
    with open(shapes) as file:
        chosen = json.load(file)[part::parts]
    with open(path, "w") as file:
        for number, shape in enumerate(chosen):
            for kind in TYPES[:3 if number % 3 == 0 else 2]:
                for last in (False, True)[:2 if shape[0] > 1 else 1]:
                    if time.monotonic() - begin > float(seconds):
                        continue
                    try:
                        found = asked(torch, shape, getattr(torch, kind), last)
                        if torch.cuda.memory_stats()["num_ooms"] > refused:
                            found = "out of memory"
                    except RuntimeError as error:
                        found = str(error).splitlines()[0]
                    refused = torch.cuda.memory_stats()["num_ooms"]
                    if torch.cuda.memory_reserved() > KEPT:
                        torch.cuda.empty_cache()
                    if found is not None:
                        file.write(json.dumps([kind, last] + list(shape) + [found]) + "\n")
                        file.flush()
                        count += 1
    print("%d convolutions" % count)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
