"""Which blocks PyTorch asks of its allocator inside of single operations: on a GPU, and rehearsed.

    ops.py list FILE             runs them on the current device; FILE gets [[name, [[letter, size]]]]
    ops.py compare FILE FILE     a GPU's beside a rehearsal's: a line for each operation that differs

What an operation needs is made before; what it gives goes with the next one. So the list of an
operation has its results and all that is needed in between: the workspaces of cuDNN, cuFFT, cuSOLVER,
CUB. Exit status of compare: 0 all are equal, 1 not.
"""
import json
import sys
from collections import Counter

MIB = 1 << 20
LETTERS = {"alloc": "a", "free_completed": "f"}


def operations(torch):
    """(name, make): make() gives what is run, with its inputs in it."""
    cuda, functional = torch.device("cuda"), torch.nn.functional

    def numbers(*shape, dtype=torch.float32, **more):
        return torch.randn(*shape, device=cuda, dtype=torch.float32, **more).to(dtype)

    def whole(high, *shape):
        return torch.randint(high, shape, device=cuda)

    def convolution(dims, dtype, batch, into, out, size, kernel, stride=1, groups=1, last=False,
                    transposed=False):
        def make():
            kind = "ConvTranspose%dd" % dims if transposed else "Conv%dd" % dims
            layer = getattr(torch.nn, kind)(into, out, kernel, stride=stride, padding=kernel // 2,
                                            groups=groups).to(cuda, dtype)
            x = numbers(batch, into, *[size] * dims, dtype=dtype)
            if last:
                x, layer = (one.to(memory_format=torch.channels_last) for one in (x, layer))
            x.requires_grad_()

            def run():
                y = layer(x)
                y.backward(y.detach())
            return run
        return make

    def recurrent(kind, dtype, steps, batch, into, hidden, layers, two_ways=False, dropout=0.0,
                  train=True):
        def make():
            network = getattr(torch.nn, kind)(into, hidden, layers, bidirectional=two_ways,
                                              dropout=dropout).to(cuda, dtype)
            x = numbers(steps, batch, into, dtype=dtype).requires_grad_(train)

            def run():
                with torch.set_grad_enabled(train):
                    y = network(x)[0]
                if train:
                    y.backward(y.detach())
            return run
        return make

    def packed(kind, lengths, into, hidden):
        def make():
            network = getattr(torch.nn, kind)(into, hidden, 1).to(cuda)
            x = torch.nn.utils.rnn.pack_padded_sequence(
                numbers(max(lengths), len(lengths), into), lengths, enforce_sorted=False)

            def run():
                y = network(x)[0].data
                y.backward(y.detach())
            return run
        return make

    def attention(dtype, batch, heads, length, width, causal=False, masked=False, train=True):
        def make():
            q, k, v = (numbers(batch, heads, length, width, dtype=dtype).requires_grad_(train)
                       for _ in range(3))
            mask = numbers(batch, 1, length, length, dtype=dtype) if masked else None

            def run():
                y = functional.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
                if train:
                    y.backward(y.detach())
            return run
        return make

    def call(function, *makers):
        def make():
            inputs = [maker() for maker in makers]
            return lambda: function(*inputs)
        return make

    def f(*shape, **more):
        return lambda: numbers(*shape, **more)

    def i(high, *shape):
        return lambda: whole(high, *shape)

    half, brain, double = torch.float16, torch.bfloat16, torch.float64
    linalg, fft = torch.linalg, torch.fft
    found = []
    for dtype, name in ((torch.float32, "fp32"), (half, "fp16"), (brain, "bf16")):
        for last in (False, True):
            for shape in ((8, 3, 64, 224, 7, 2), (8, 64, 64, 56, 3), (8, 64, 256, 56, 1),
                          (8, 256, 512, 28, 1, 2), (8, 128, 128, 28, 3), (8, 256, 256, 14, 3, 2),
                          (8, 512, 512, 7, 3), (4, 32, 32, 32, 3), (4, 3, 32, 32, 3),
                          (2, 128, 128, 256, 3), (2, 320, 320, 64, 3), (2, 1280, 1280, 16, 3),
                          (32, 1, 6, 28, 5), (32, 64, 64, 56, 3), (4, 3, 768, 224, 16, 16)):
                found.append(("conv2d %s%s %s" % (name, " last" * last, shape),
                              convolution(2, dtype, *shape, last=last)))
            found.append(("conv2d depthwise %s%s" % (name, " last" * last),
                          convolution(2, dtype, 8, 96, 96, 56, 7, groups=96, last=last)))
            found.append(("conv2d grouped %s%s" % (name, " last" * last),
                          convolution(2, dtype, 8, 128, 128, 28, 3, groups=32, last=last)))
            found.append(("conv2d transposed %s%s" % (name, " last" * last),
                          convolution(2, dtype, 8, 128, 64, 28, 4, 2, last=last, transposed=True)))
        found.append(("conv1d " + name, convolution(1, dtype, 8, 80, 512, 3000, 3)))
        found.append(("conv3d " + name, convolution(3, dtype, 2, 16, 32, 32, 3)))
        for kind in ("LSTM", "GRU", "RNN"):
            for shape in ((10, 4, 64, 64, 1), (50, 32, 256, 512, 1), (50, 32, 256, 512, 2),
                          (35, 20, 200, 200, 2), (7, 3, 100, 33, 3), (128, 64, 128, 1024, 1)):
                found.append(("%s %s %s" % (kind, name, shape), recurrent(kind, dtype, *shape)))
            found.append(("%s %s two ways" % (kind, name),
                          recurrent(kind, dtype, 50, 32, 256, 512, 2, True, 0.5)))
            found.append(("%s %s inference" % (kind, name),
                          recurrent(kind, dtype, 50, 32, 256, 512, 2, train=False)))
        for shape in ((4, 12, 1024, 64), (2, 16, 2048, 128), (8, 8, 100, 32), (1, 8, 4096, 40)):
            for causal in (False, True):
                found.append(("attention %s%s %s" % (name, " causal" * causal, shape),
                              attention(dtype, *shape, causal=causal)))
        found.append(("attention %s masked" % name, attention(dtype, 4, 12, 512, 64, masked=True)))
        found.append(("attention %s inference" % name,
                      attention(dtype, 4, 12, 1024, 64, True, train=False)))
        for shape in ((64, 64, 64), (1024, 1024, 1024), (4096, 1024, 4096), (32768, 768, 3072)):
            found.append(("matmul %s %s" % (name, shape),
                          call(torch.matmul, f(shape[0], shape[1], dtype=dtype),
                               f(shape[1], shape[2], dtype=dtype))))
            found.append(("linear %s %s" % (name, shape),
                          call(functional.linear, f(shape[0], shape[1], dtype=dtype),
                               f(shape[2], shape[1], dtype=dtype), f(shape[2], dtype=dtype))))
        found.append(("bmm %s" % name, call(torch.bmm, f(48, 512, 64, dtype=dtype),
                                            f(48, 64, 512, dtype=dtype))))
        found.append(("layer_norm %s" % name,
                      call(lambda x: functional.layer_norm(x, (1024,)), f(4096, 1024, dtype=dtype))))
        found.append(("batch_norm %s" % name,
                      call(lambda x: functional.batch_norm(x, None, None, training=True),
                           f(8, 64, 56, 56, dtype=dtype))))
        found.append(("group_norm %s" % name,
                      call(lambda x: functional.group_norm(x, 8), f(8, 64, 56, 56, dtype=dtype))))
        found.append(("sum %s" % name, call(torch.sum, f(1 << 24, dtype=dtype))))
        found.append(("norm %s" % name, call(torch.norm, f(1 << 24, dtype=dtype))))
    for count in (1000, 1 << 16, 1 << 20, 1 << 24):
        found += [
            ("sort %d" % count, call(torch.sort, f(count))),
            ("sort whole %d" % count, call(torch.sort, i(1 << 30, count))),
            ("argsort stable %d" % count,
             call(lambda x: torch.argsort(x, stable=True), f(count))),
            ("topk %d" % count, call(lambda x: torch.topk(x, 50), f(count))),
            ("cumsum %d" % count, call(lambda x: torch.cumsum(x, 0), f(count))),
            ("median %d" % count, call(torch.median, f(count))),
            ("randperm %d" % count, call(lambda: torch.randperm(count, device=cuda))),
            ("index_put %d" % count, call(lambda x, k, y: x.index_put_((k,), y, accumulate=True),
                                          f(count), i(count, count), f(count))),
            ("embedding backward %d" % count,
             call(lambda g, k: torch.ops.aten.embedding_dense_backward(g, k, 1000, -1, False),
                  f(count // 8 or 1, 64), i(1000, count // 8 or 1))),
            ("max whole %d" % count, call(torch.max, i(1 << 30, count))),
            ("histc %d" % count, call(lambda x: torch.histc(x, 100), f(count))),
            ("kthvalue %d" % count, call(lambda x: torch.kthvalue(x, 10), f(count))),
        ]
    for rows, columns in ((64, 1000), (4096, 128), (8, 50257), (32, 32000)):
        found += [
            ("sort rows %dx%d" % (rows, columns), call(lambda x: torch.sort(x, 1), f(rows, columns))),
            ("topk rows %dx%d" % (rows, columns),
             call(lambda x: torch.topk(x, 50, 1), f(rows, columns))),
            ("softmax %dx%d" % (rows, columns), call(lambda x: torch.softmax(x, 1), f(rows, columns))),
            ("cumsum rows %dx%d" % (rows, columns),
             call(lambda x: torch.cumsum(x, 1), f(rows, columns))),
            ("multinomial %dx%d" % (rows, columns),
             call(lambda x: torch.multinomial(x.abs() + 1, 1), f(rows, columns))),
            ("cross_entropy %dx%d" % (rows, columns),
             call(functional.cross_entropy, f(rows, columns), i(columns, rows))),
        ]

    def spd(count):
        x = numbers(count, count)
        return x @ x.T + count * torch.eye(count, device=cuda)
    for count in (32, 256, 1024):
        found += [
            ("solve %d" % count, call(linalg.solve, lambda n=count: spd(n), f(count, count))),
            ("inv %d" % count, call(linalg.inv, lambda n=count: spd(n))),
            ("cholesky %d" % count, call(linalg.cholesky, lambda n=count: spd(n))),
            ("qr %d" % count, call(linalg.qr, f(count, count))),
            ("svd %d" % count, call(linalg.svd, f(count, count))),
            ("eigh %d" % count, call(linalg.eigh, lambda n=count: spd(n))),
            ("det %d" % count, call(linalg.det, lambda n=count: spd(n))),
            ("lstsq %d" % count, call(linalg.lstsq, f(count, count), f(count, 4))),
        ]
    found += [
        ("inv batch", call(linalg.inv, lambda: spd(32).expand(64, 32, 32).contiguous())),
        ("cholesky batch", call(linalg.cholesky, lambda: spd(32).expand(64, 32, 32).contiguous())),
        ("fft", call(fft.fft, f(64, 4096))),
        ("fft odd", call(fft.fft, f(64, 4099))),
        ("fft2", call(fft.fft2, f(16, 512, 512))),
        ("rfft", call(fft.rfft, f(1 << 20))),
        ("irfft", call(lambda x: fft.irfft(fft.rfft(x)), f(64, 4096))),
        ("stft", call(lambda x: torch.stft(x, 400, 160, return_complex=True), f(8, 480000))),
        ("matmul fp64", call(torch.matmul, f(512, 512, dtype=double), f(512, 512, dtype=double))),
        ("dropout", call(lambda x: functional.dropout(x, 0.1), f(4096, 1024))),
        ("scatter_add", call(lambda x, k: torch.zeros_like(x).scatter_add_(0, k, x), f(1 << 20),
                             i(1000, 1 << 20))),
        ("bincount", call(lambda k: torch.bincount(k, minlength=1000), i(1000, 1 << 20))),
        ("grid_sample", call(lambda x, g: functional.grid_sample(x, g, align_corners=False),
                             f(4, 3, 64, 64), f(4, 64, 64, 2))),
        ("interpolate", call(lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"),
                             f(4, 64, 64, 64))),
        ("max_pool2d", call(lambda x: functional.max_pool2d(x, 2), f(8, 64, 112, 112))),
        ("ctc_loss", call(lambda x, k: functional.ctc_loss(
            x.log_softmax(2), k, torch.full((16,), 50), torch.full((16,), 20)),
            f(50, 16, 20), i(19, 16, 20))),
        ("sparse mm", call(lambda x: torch.sparse.mm(torch.eye(512, device=cuda).to_sparse(), x),
                           f(512, 512))),
    ]
    return found


def run(torch):
    """[[name, events]]; an operation that this PyTorch refuses has its error's first line instead."""
    memory, lists = torch.cuda.memory, []
    torch.manual_seed(0)
    torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")
    for name, make in operations(torch):
        try:
            doing = make()
            torch.cuda.synchronize()
            memory._record_memory_history("all", context=None, max_entries=100000)
            result = doing()
            torch.cuda.synchronize()
            trace = memory._snapshot()["device_traces"][torch.cuda.current_device()]
            lists.append([name, [[LETTERS[one["action"]], one["size"]] for one in trace
                                 if one["action"] in LETTERS]])
        except RuntimeError as error:
            lists.append([name, str(error).splitlines()[0]])
        finally:
            memory._record_memory_history(None)
            doing = result = None
    return lists


def highest(events):
    now = most = 0
    for letter, size in events:
        now += size if letter == "a" else -size
        most = max(most, now)
    return most


def told(counts):
    return ", ".join("%d x %d" % (count, size) for size, count in sorted(counts.items())[-6:]) or "-"


def compare(real, rehearsed):
    """(how many are equal, lines about the others)"""
    equal, lines = 0, []
    other = dict(rehearsed)
    for name, events in real:
        ours = other.get(name)
        if events == ours:
            equal += 1
        elif isinstance(events, str) or not isinstance(ours, list):
            lines.append("%s: GPU %.60s; rehearsed %.60s" % (name, events, ours))
        else:
            theirs = Counter(size for letter, size in events if letter == "a")
            mine = Counter(size for letter, size in ours if letter == "a")
            lines.append("%s: peak %+d bytes of %d; GPU alone %s; rehearsed alone %s" % (
                name, highest(ours) - highest(events), highest(events), told(theirs - mine),
                told(mine - theirs)))
    return equal, lines


def read_sides(paths):
    sides = []
    for path in paths:
        with open(path) as file:
            sides.append(json.load(file))
    return sides


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "list":
        import torch
        lists = run(torch)
        with open(arguments[1], "w") as file:
            json.dump(lists, file)
        print("%d operations" % len(lists))
        return 0
    if len(arguments) != 3 or arguments[0] != "compare":
        print(__doc__)
        return 2
    sides = read_sides(arguments[1:])
    equal, lines = compare(*sides)
    for line in lines:
        print(line)
    print("figures: %d of %d operations take the same blocks" % (equal, len(sides[0])))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
