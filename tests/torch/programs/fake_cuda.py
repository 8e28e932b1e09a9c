"""A CUDA of our own under a real torch: an allocator that keeps a history in torch's format and
calls the hook as torch's does, with the functions of torch.cuda.memory that show it. Import it
before torch."""
import ctypes
import importlib.abc
import importlib.machinery
import inspect
import sys
import time

HOOK = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
CUDA_TYPE = 1
SEGMENT = 2 << 20


class Device(object):
    """Blocks one behind the other in segments of 2 MiB, the lowest free place first."""

    def __init__(self, number):
        self.number = number
        self.report = getattr(ctypes.PyDLL(None), HOOK, None)
        if self.report is not None:
            number, size = ctypes.c_uint64, ctypes.c_int64
            self.report.argtypes = [number, size, number, number, number]
            self.report.restype = None
        self.keeps = None  # how many entries, None = no history
        self.trace = []
        self.segments = {}  # address -> pool
        self.pages = {}  # address -> bytes, of an expandable segment
        self.blocks = {}  # address -> (bytes, requested)
        self.pending = {}
        self.allocated = 0

    def write(self, action, address, size, pool=(0, 0)):
        if self.keeps is None:
            return
        self.trace.append({
            "action": action, "addr": address, "size": size, "stream": 0,
            "time_us": int(time.time() * 1000000), "pool_id": pool,
        })
        del self.trace[:-self.keeps]

    def tell(self, address, size):
        self.allocated += size
        reserved = len(self.segments) * SEGMENT + sum(self.pages.values())
        if self.report is not None:
            device = CUDA_TYPE | self.number << 8
            self.report(address, size, self.allocated, reserved, device)

    def place(self, size):
        for segment in sorted(self.segments):
            at = segment
            while at + size <= segment + SEGMENT:
                over = [b for b in (self.blocks, self.pending) for a, (n, r) in b.items()
                        if a < at + size and at < a + n]
                if not over:
                    return at
                at += 512
        return None

    def alloc(self, requested, pool=(0, 0)):
        size = (requested + 511) // 512 * 512
        address = self.place(size)
        if address is None:
            address = 0x7f0000000000 + (self.number << 36) + 2 * SEGMENT * len(self.segments)
            self.segments[address] = pool
            self.write("segment_alloc", address, SEGMENT, pool)
        self.blocks[address] = (size, requested)
        self.write("alloc", address, requested, pool)
        self.tell(address, size)
        return address

    def free(self, address, waits=False):
        size, requested = self.blocks.pop(address)
        self.write("free_requested", address, requested)
        if waits:
            self.pending[address] = (size, requested)
        else:
            self.write("free_completed", address, requested)
        self.tell(address, -size)

    def complete(self, address):
        size, requested = self.pending.pop(address)
        self.write("free_completed", address, requested)

    def give(self, segment):
        del self.segments[segment]
        self.write("segment_free", segment, SEGMENT)

    def map(self, address, size):
        self.pages[address] = size
        self.write("segment_map", address, size)

    def snapshot(self):
        pools = self.segments.items()
        return [
            {"device": self.number, "address": address, "total_size": SEGMENT,
             "segment_pool_id": pool, "is_expandable": False, "blocks": []}
            for address, pool in pools
        ] + [
            {"device": self.number, "address": address, "total_size": size,
             "segment_pool_id": (0, 0), "is_expandable": True, "blocks": []}
            for address, size in self.pages.items()
        ]


devices = [Device(0), Device(1)]
started = []  # CUDA is initialised
calls = []  # of _record_memory_history: (enabled, context, stacks, max_entries)
observers = []
settings = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "max_split_size": 67108864}


between = []  # what other threads do just before the history is turned off


def _record_memory_history_impl(enabled="all", context="all", stacks="all",
                                max_entries=sys.maxsize, device=None):
    calls.append((enabled, context, stacks, max_entries))
    while between and not enabled:
        between.pop()()
    for device in devices:
        device.keeps = max_entries if enabled else None
        del device.trace[:]


def _record_memory_history(enabled="all", *args, **kwargs):
    """As torch's: the names of the arguments are elsewhere."""
    return _record_memory_history_impl(enabled, *args, **kwargs)


def _snapshot(device=None):
    taken = {
        "segments": [segment for device in devices for segment in device.snapshot()],
        "device_traces": [list(device.trace) for device in devices],
        "allocator_settings": dict(settings),
    }
    for device in devices:
        device.write("snapshot", 0, 0)
    return taken


def patch(memory):
    memory._record_memory_history_impl = _record_memory_history_impl
    memory._record_memory_history = _record_memory_history
    memory._snapshot = _snapshot


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "torch.cuda.memory":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            patch(module)

        spec.loader.exec_module = exec_module
        return spec


def initialize(torch):
    """As torch.cuda._lazy_init does: what waits for it is called before it says that it is done."""
    for call, trace in torch.cuda._queued_calls:
        call()
    started.append(True)


def install(torch):
    """After the import of torch."""
    torch.cuda.is_initialized = lambda: bool(started)
    torch._C._cuda_attach_out_of_memory_observer = observers.append


sys.meta_path.insert(0, Finder())
assert inspect.signature(_record_memory_history_impl).parameters["max_entries"]
