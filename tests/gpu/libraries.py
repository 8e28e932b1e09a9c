"""What CUDA and its libraries take of a GPU beside PyTorch's allocator: for docs/gpu-profiles.md.

    libraries.py FILE

One process for each question, one after the other, on a GPU that nobody else uses. FILE gets a list of
{"what", ...} with bytes; what cannot be asked here has its reason in place of them.
"""
import ctypes
import json
import os
import subprocess
import sys

ATTRIBUTES = 160
INVALID_VALUE = 1


def told(**figures):
    """As one write: ranks share the pipe."""
    os.write(1, ("\ntold: " + json.dumps(figures) + "\n").encode())


class Driver(object):
    """The driver's calls that are needed here, by ctypes, with the errors as exceptions."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            raise OSError("%s gave %d" % (name, result))

    def context(self):
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def memory(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def attributes(self):
        found = {}
        for number in range(1, ATTRIBUTES):
            value = ctypes.c_int()
            result = self.library.cuDeviceGetAttribute(ctypes.byref(value), number, self.device)
            if not result:
                found[number] = value.value
        return found


def nvml():
    import pynvml
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    one = pynvml.nvmlDeviceGetMemoryInfo(handle)
    two = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    return {"total": one.total, "used": one.used, "free": one.free, "reserved": two.reserved,
            "used_without_reserved": two.used, "driver": str(pynvml.nvmlSystemGetDriverVersion())}


def context():
    before = nvml()
    driver = Driver()
    initialised = nvml()
    driver.context()
    free, total = driver.memory()
    told(before=before, initialised=initialised, with_context=nvml(), free=free, total=total,
         attributes=driver.attributes())


# ---- with PyTorch: what is used outside of its allocator, behind each use ----

def outside(torch):
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()


def uses(torch):
    functional = torch.nn.functional
    cuda, half = torch.device("cuda"), torch.bfloat16

    def lstm(x):
        y = torch.nn.LSTM(64, 64).to(cuda)(x)[0]
        y.sum().backward()

    def convolve(x):
        y = torch.nn.Conv2d(16, 32, 3).to(cuda)(x)
        y.sum().backward()
    x, pictures = torch.randn(256, 256, device=cuda), torch.randn(2, 16, 32, 32, device=cuda)
    words, heads = torch.randn(8, 4, 64, device=cuda), torch.randn(2, 4, 256, 64, device=cuda,
                                                                    dtype=half)
    torch_uses = (
        ("add", lambda: x + x), ("matmul fp32", lambda: x @ x),
        ("matmul bf16", lambda: x.to(half) @ x.to(half)),
        ("linear", lambda: functional.linear(x, x, x[0])),
        ("conv2d", lambda: convolve(pictures)), ("lstm", lambda: lstm(words)),
        ("attention", lambda: functional.scaled_dot_product_attention(heads, heads, heads)),
        ("sort", lambda: torch.sort(x.flatten())), ("fft", lambda: torch.fft.fft(x)),
        ("solve", lambda: torch.linalg.solve(x, x)), ("svd", lambda: torch.linalg.svd(x)),
        ("sparse", lambda: torch.sparse.mm(x.to_sparse(), x)),
        ("graph", lambda: torch.cuda.make_graphed_callables(torch.nn.Linear(256, 256).to(cuda), (x,))),
    )
    return torch_uses


def after_each(name=None):
    """With a name: that use alone, behind the first tensor."""
    import torch
    torch.cuda.init()
    first = outside(torch)
    found = [["init", first]]
    made = uses(torch)
    found.append(["first tensor", outside(torch)])
    for what, use in made:
        if name in (None, what):
            use()
            found.append([what, outside(torch)])
    told(outside=found)


def alone():
    for name in ("matmul fp32", "matmul bf16", "conv2d", "lstm", "attention", "fft", "solve"):
        print("alone: " + name)
        sys.stdout.flush()
        subprocess.run([sys.executable, __file__, "--ask", "after_each", name], check=False)


# ---- NCCL: one rank, and two that take each other for other machines, for they share the GPU ----

def rank(number, count, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, NCCL_HOSTID="host%s" % number,
                      NCCL_SOCKET_IFNAME="lo")
    import torch
    import torch.distributed as dist
    number, count = int(number), int(count)
    torch.cuda.init()
    x = torch.ones(1 << 20, device="cuda")
    before = outside(torch)
    found = []
    dist.init_process_group("nccl", rank=number, world_size=count,
                            device_id=torch.device("cuda", 0))
    found.append(["init", outside(torch) - before])
    for name, use in (("all_reduce", lambda: dist.all_reduce(x)), ("broadcast", lambda: dist.broadcast(x, 0)),
                      ("all_gather", lambda: dist.all_gather([torch.empty_like(x) for _ in range(count)], x)),
                      ("barrier", dist.barrier)):
        use()
        torch.cuda.synchronize()
        found.append([name, outside(torch) - before])
    told(rank=number, ranks=count, outside=found, nccl=list(torch.cuda.nccl.version()))
    dist.destroy_process_group()


def nccl():
    for count, port in ((1, "29611"), (2, "29612")):
        ranks = [subprocess.Popen([sys.executable, __file__, "--ask", "rank", str(one), str(count), port])
                 for one in range(count)]
        for one in ranks:
            try:
                one.wait(60)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


# ---- an RNN's reserve and workspace, as cuDNN says them ----

class Dnn(object):
    FLOAT, DOUBLE, HALF, BF16 = 0, 1, 2, 9
    LSTM, GRU, TANH = 2, 3, 1

    def __init__(self):
        import torch
        torch.backends.cudnn.version()
        torch.cuda.init()
        torch.ones(1, device="cuda")
        self.torch = torch
        self.library = ctypes.CDLL("libcudnn.so.9")
        self.handle = self.make("cudnnCreate")

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            raise OSError("%s gave %d" % (name, result))

    def make(self, name):
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made))
        return made

    def weights_and_spaces(self, mode, kind, math, steps, batch, into, hidden, layers, ways,
                           dropout, lengths=None, projected=None, algorithm=0):
        """[weights, workspace training, reserve, workspace inference]"""
        drop = self.make("cudnnCreateDropoutDescriptor")
        size = ctypes.c_size_t()
        self.call("cudnnDropoutGetStatesSize", self.handle, ctypes.byref(size))
        states = self.torch.empty(size.value, dtype=self.torch.uint8, device="cuda")
        self.call("cudnnSetDropoutDescriptor", drop, self.handle, ctypes.c_float(dropout),
                  ctypes.c_void_p(states.data_ptr()), size, ctypes.c_ulonglong(1))
        rnn, data = self.make("cudnnCreateRNNDescriptor"), self.make("cudnnCreateRNNDataDescriptor")
        computed = self.DOUBLE if kind == self.DOUBLE else self.FLOAT
        self.call("cudnnSetRNNDescriptor_v8", rnn, algorithm, mode, 2, ways - 1, 0, kind, computed, math, into,
                  hidden, projected or hidden, layers, drop, 1 if lengths else 0)
        each = (ctypes.c_int * batch)(*(lengths or [steps] * batch))
        self.call("cudnnSetRNNDataDescriptor", data, kind, 1 if lengths else 0, steps, batch, into,
                  each, None)
        found = []
        self.call("cudnnGetRNNWeightSpaceSize", self.handle, rnn, ctypes.byref(size))
        found.append(size.value)
        for forward in (1, 0):
            work, reserve = ctypes.c_size_t(), ctypes.c_size_t()
            self.call("cudnnGetRNNTempSpaceSizes", self.handle, rnn, forward, data,
                      ctypes.byref(work), ctypes.byref(reserve))
            found += [work.value, reserve.value][:1 + forward]
        for name, one in (("RNNData", data), ("RNN", rnn), ("Dropout", drop)):
            self.call("cudnnDestroy%sDescriptor" % name, one)
        return found


def recurrent():
    """One line for each shape: steps, batch, input, hidden, layers, ways, dropout, and the sizes."""
    dnn = Dnn()
    shapes = [(steps, batch, into, hidden, layers, ways, dropout)
              for steps, batch in ((1, 1), (1, 8), (7, 3), (10, 4), (35, 20), (50, 32), (50, 64),
                                   (100, 80), (128, 64), (512, 16))
              for into, hidden in ((64, 64), (100, 33), (200, 200), (256, 512), (128, 1024), (500, 1000),
                                   (1500, 1500))
              for layers, ways, dropout in ((1, 1, 0.0), (1, 2, 0.0), (2, 1, 0.0), (2, 1, 0.5),
                                            (2, 2, 0.5), (3, 1, 0.0), (4, 2, 0.0))]
    modes = (("LSTM", dnn.LSTM), ("GRU", dnn.GRU), ("RNN", dnn.TANH))
    kinds = (("fp32", dnn.FLOAT, 3), ("fp32 tf32", dnn.FLOAT, 0), ("fp16", dnn.HALF, 1),
             ("bf16", dnn.BF16, 1))
    for mode_name, mode in modes:
        for kind_name, kind, math in kinds:
            rows = []
            for shape in shapes:
                try:
                    rows.append(list(shape) + dnn.weights_and_spaces(mode, kind, math, *shape))
                except OSError as error:
                    rows.append(list(shape) + [str(error)])
            told(mode=mode_name, kind=kind_name, rows=rows)
    rows = []
    for lengths in ([9, 7, 5, 2], [50] * 16 + [10] * 16, list(range(64, 0, -1))):
        for layers, ways in ((1, 1), (2, 2)):
            shape = (max(lengths), len(lengths), 256, 256, layers, ways, 0.0)
            rows.append([lengths] + list(shape) + dnn.weights_and_spaces(
                dnn.LSTM, dnn.FLOAT, 3, *shape, lengths=lengths))
    told(mode="LSTM", kind="fp32 packed", rows=rows)
    rows = []
    for projected in (64, 100):
        shape = (35, 20, 200, 200, 2, 1, 0.0)
        rows.append([projected] + list(shape) + dnn.weights_and_spaces(
            dnn.LSTM, dnn.FLOAT, 3, *shape, projected=projected))
    told(mode="LSTM", kind="fp32 projected", rows=rows)


def recurrent_rows(dnn, mode_name, mode, kind_name, kind, math, shapes, **more):
    rows = []
    for shape in shapes:
        try:
            rows.append(list(shape) + dnn.weights_and_spaces(mode, kind, math, *shape, **more))
        except OSError as error:
            rows.append(list(shape) + [str(error)])
    told(mode=mode_name, kind=kind_name, rows=rows, **more)


def recurrent_more():
    """What `recurrent` leaves out: many step counts, many layers, projections, dropout with other layers,
    small states in two ways, fp64, ReLU."""
    dnn = Dnn()
    modes = (("LSTM", dnn.LSTM), ("GRU", dnn.GRU), ("RNN", dnn.TANH), ("ReLU", 0))
    kinds = (("fp32", dnn.FLOAT, 3), ("fp16", dnn.HALF, 1), ("fp64", dnn.DOUBLE, 3))
    steps = [(count, batch, 96, 192, layers, 1, 0.0)
             for count in (64, 100, 101, 112, 120, 127, 128, 129, 160, 192, 255, 256, 257, 300, 384, 400,
                           511, 512, 513, 700, 1024)
             for batch in (4, 32) for layers in (1, 2, 3)]
    deep = [(40, 16, 128, 256, layers, ways, dropout) for layers in (5, 6, 8, 10, 12, 16)
            for ways in (1, 2) for dropout in (0.0, 0.3)]
    dropped = [(count, 16, 80, hidden, layers, ways, dropout) for count in (20, 160) for hidden in (60, 256)
               for layers in (1, 2, 3, 4, 6) for ways in (1, 2) for dropout in (0.1, 0.5)]
    small = [(count, batch, 48, hidden, layers, ways, 0.0) for count in (20, 130, 300) for batch in (1, 8, 64)
             for hidden in (16, 32, 64, 128, 256, 384) for layers in (1, 2, 3) for ways in (1, 2)]
    for kind in kinds:
        for mode in modes:
            recurrent_rows(dnn, *mode, *kind, steps + deep + dropped + small)
            if kind[0] != "fp64":
                recurrent_rows(dnn, *mode, *kind, steps + small, algorithm=PERSISTENT)
        for projected in (16, 64, 100, 128):
            recurrent_rows(dnn, "LSTM", dnn.LSTM, *kind,
                           [(count, batch, 100, hidden, layers, ways, dropout) for count in (9, 35, 200)
                            for batch in (4, 20) for hidden in (200, 256) for layers in (1, 2, 3)
                            for ways in (1, 2) for dropout in (0.0, 0.5)], projected=projected)
        for lengths in ([9, 7, 5, 2], [300, 200, 10, 10, 3], list(range(200, 0, -1))):
            recurrent_rows(dnn, "LSTM", dnn.LSTM, *kind,
                           [(max(lengths), len(lengths), 64, 200, layers, ways, 0.0)
                            for layers in (1, 2, 3) for ways in (1, 2)], lengths=lengths)


PERSISTENT = 1
QUESTIONS = ("context", "after_each", "alone", "nccl", "recurrent", "recurrent_more")


def ask(name):
    """[{"what": name, ...}]"""
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--ask", name],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100,
                              universal_newlines=True)
        output, error = done.stdout, done.stderr if done.returncode else ""
    except subprocess.TimeoutExpired as late:
        output, error = (late.stdout or b"").decode(), "not over after 100 s"
    found, extra = [], {}
    for line in output.splitlines():
        if line.startswith("alone: "):
            extra = {"alone": line[7:]}
        if line.startswith("told: "):
            found.append(dict(json.loads(line[6:]), what=name, **extra))
    if error:
        found.append({"what": name, "error": error[-1500:]})
    return found


def main():
    if sys.argv[1] == "--ask":
        globals()[sys.argv[2]](*sys.argv[3:])
        return 0
    found = []
    for name in QUESTIONS:
        found += ask(name)
        with open(sys.argv[1], "w") as file:
            json.dump(found, file, indent=1)
    errors = [one for one in found if "error" in one]
    for one in errors:
        print("%s: %s" % (one["what"], one["error"].strip().splitlines()[-1]))
    print("figures: %d answers, %d not to be had" % (len(found) - len(errors), len(errors)))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
