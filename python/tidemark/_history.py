"""How torch's CUDA allocator was set up, and, for `tidemark record --history`, what its own history
adds to what the hook sees: requests, segments, and when a block that waited could be used again.

Nothing here initialises CUDA: torch is asked to call us when it does so itself. The history is
torch's own, kept without stacks; it is read at the end of each optimizer step, when an allocation
fails, and at the end of the process. A snapshot takes time for each entry that is kept, so they are
cleared when there are many. Should the program keep a history itself, ours stops, for there is only
one.

Entries go out in their order, for the recorder matches them with the hook's events. Where some were
overwritten, or written between a snapshot and the clearing after it, the recorder begins
anew, with the segments that are there now.
"""
import atexit
import inspect
import os
import re
import time
from _thread import allocate_lock

# As enum history_action of ring/event.h has them.
RESTART = 1
ACTIONS = {
    "alloc": 2,
    "free_requested": 3,
    "free_completed": 4,
    "segment_alloc": 5,
    "segment_free": 6,
    "segment_map": 7,
    "segment_unmap": 8,
}
SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP = 5, 6, 7

CUDA = 1  # of the device kinds of a heap
MOST = 100000  # entries of a device that torch is to keep
CLEAR_AT = 5000
BEFORE = 0  # the time of what was there when the history began


class Settings(object):
    """What a replay must know of the allocator; each setting is sent when it changed."""

    def __init__(self, torch, library):
        self.torch = torch
        self.library = library
        self.sent = {}

    def send(self, key, value):
        if self.sent.get(key) != value:
            self.sent[key] = value
            self.library.setting(("%s=%s" % (key, value)).encode("utf-8", "replace"))

    def initialized(self):
        """CUDA is there: the allocator was chosen."""
        try:
            name = self.torch.cuda.get_allocator_backend()
        except AttributeError:
            name = "native"  # before there was a choice
        self.send("allocator", "pytorch" if name == "native" else name)
        self.workspace()
        for variable in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
            if os.environ.get(variable):
                self.send("alloc_conf", os.environ[variable])
                return

    def workspace(self):
        """Bytes that cuBLAS gets, where the program chose: pairs of :KiB:COUNT. Without a setting it
        depends on the device, and is not asked here: that would initialise more than the program does."""
        pairs = re.findall(":([0-9]+):([0-9]+)", os.environ.get("CUBLAS_WORKSPACE_CONFIG", ""))
        if pairs:
            self.send("cublas_workspace", sum(int(size) * int(count) * 1024
                                              for size, count in pairs))

    def parsed(self, settings):
        """`allocator_settings` of a snapshot: the program may have changed them."""
        value = settings.get("PYTORCH_CUDA_ALLOC_CONF")
        if isinstance(value, str):
            self.send("alloc_conf", value)


class Unfit(Exception):
    """Why there is no history."""


class History(object):
    def __init__(self, torch, library, settings):
        self.torch = torch
        self.library = library
        self.settings = settings
        self.memory = torch.cuda.memory
        self.lock = allocate_lock()
        self.given_up = False
        self.clear()
        self.record = self.memory._record_memory_history
        self.options = options_for(self.memory)

    def clear(self):
        self.on = False
        self.seen = {}  # device -> entries of its trace that were sent
        self.segments = {}  # (device, address) -> bytes, as the recorder has them
        self.heaps = {}

    # ---- torch's side ----

    def enable(self):
        self.record("all", **self.options)

    def forget_entries(self):
        self.record(None)
        self.enable()
        self.seen.clear()

    def begin(self):
        """When CUDA was initialised, or when it is found to be."""
        if self.on or self.given_up:
            return
        enabled = getattr(self.torch._C, "_cuda_isHistoryEnabled", None)
        if enabled is not None and enabled():
            raise Unfit("the program keeps one itself")
        self.settings.send("history", 1)
        late = self.torch.cuda.is_initialized()
        before = self.memory._snapshot() if late else {"segments": []}
        for device in sorted({segment["device"] for segment in before["segments"]}):
            self.begin_anew(device, before)
        self.enable()
        self.on = True
        self.observe_failures()
        self.library.note(b"history", 0)

    def observe_failures(self):
        attach = getattr(self.torch._C, "_cuda_attach_out_of_memory_observer", None)
        if attach is not None:
            attach(lambda *numbers: self.collect())

    def give_up(self, why):
        if not self.given_up:
            self.given_up = True
            self.on = False
            self.library.note(("history: %s" % (why,)).encode("utf-8", "replace"), 1)

    def guarded(self, function):
        """Nothing that goes wrong here is the program's."""
        try:
            function()
        except Exception as error:
            text = str(error) or type(error).__name__
            self.give_up(text.splitlines()[0][:100])

    # ---- our side ----

    def heap(self, device, pool):
        key = (device, pool)
        heap = self.heaps.get(key)
        if heap is None:
            number = pool_number(pool)
            heap = self.heaps[key] = self.library.pool(CUDA, device, number)
        return heap

    def send(self, action, device, address, size, ns, pool=None):
        if action == SEGMENT_ALLOC:
            self.segments[device, address] = size
        elif action == SEGMENT_FREE:
            self.segments.pop((device, address), None)
        self.library.history(action, self.heap(device, pool), address, size, ns)

    def begin_anew(self, device, snapshot):
        """What was not reported never will be; from here on everything is."""
        self.send(RESTART, device, 0, 0, BEFORE)
        whole = whole_segments(device, snapshot)
        for address, size in sorted(self.known(device).items()):
            if whole.get(address) != size:
                self.send(SEGMENT_FREE, device, address, size, BEFORE)
        for segment in snapshot["segments"]:
            if segment["device"] != device:
                continue
            address, size = segment["address"], segment["total_size"]
            pool = segment.get("segment_pool_id")
            if segment.get("is_expandable"):
                self.send(SEGMENT_MAP, device, address, size, BEFORE, pool)
            elif (device, address) not in self.segments:
                self.send(SEGMENT_ALLOC, device, address, size, BEFORE, pool)

    def known(self, device):
        return {key[1]: size for key, size in self.segments.items() if key[0] == device}

    def send_entries(self, device, entries, snapshot, offset):
        pools = None
        for entry in entries:
            action = ACTIONS.get(entry["action"])
            if action is None:
                continue
            pool = None
            if action >= SEGMENT_ALLOC:
                if pools is None:
                    pools = pools_of(device, snapshot)
                pool = entry.get("pool_id") or pools.get(entry["addr"])
            ns = max(entry["time_us"] * 1000 + offset, 1) if "time_us" in entry else now()
            self.send(action, device, entry["addr"], entry["size"], ns, pool)

    def take(self):
        snapshot = self.memory._snapshot()
        offset = now() - time.time_ns()
        kept = 0
        for device, trace in enumerate(snapshot["device_traces"]):
            kept += len(trace)
            whole = len(trace) < MOST
            if whole:
                new = trace[self.seen.get(device, 0):]
                self.send_entries(device, new, snapshot, offset)
            if not whole or self.known(device) != whole_segments(device, snapshot):
                self.begin_anew(device, snapshot)
            self.seen[device] = len(trace)
        self.settings.parsed(snapshot.get("allocator_settings", {}))
        if kept > CLEAR_AT:
            self.forget_entries()

    def collect(self):
        """What is new since the last time. A second thread does not wait for the first."""
        if self.given_up or not self.lock.acquire(False):
            return
        try:
            if self.on:
                self.guarded(self.take)
            elif self.torch.cuda.is_initialized():
                self.guarded(self.begin)
        finally:
            self.lock.release()

    # ---- others ----

    def install(self):
        from tidemark._marks import adopt

        record = self.record

        def _record_memory_history(*args, **kwargs):
            if self.on:
                self.collect()
            self.give_up("the program keeps one itself")
            return record(*args, **kwargs)

        self.memory._record_memory_history = adopt(_record_memory_history, record)
        atexit.register(self.collect)

    def forked(self):
        """A child has a CUDA of its own, if any."""
        self.lock = allocate_lock()
        self.clear()


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def options_for(memory):
    """The keywords by which this torch keeps a history without stacks. Its function only hands them
    on in some releases: there another one has their names."""
    record = getattr(memory, "_record_memory_history_impl", memory._record_memory_history)
    names = inspect.signature(record).parameters
    if "max_entries" not in names or "context" not in names:
        raise Unfit("this torch cannot keep one")
    wanted = {"context": None, "stacks": "python", "max_entries": MOST}
    return {name: value for name, value in wanted.items() if name in names}


def pool_number(pool):
    """torch has two numbers for a private pool, one of which is 0: by a graph, or by a handle."""
    if not pool or not any(pool):
        return 0
    return pool[0] << 1 if pool[0] else pool[1] << 1 | 1


def pools_of(device, snapshot):
    return {
        segment["address"]: segment.get("segment_pool_id")
        for segment in snapshot["segments"]
        if segment["device"] == device
    }


def whole_segments(device, snapshot):
    """{address: bytes} of those that are not made of pages."""
    return {
        segment["address"]: segment["total_size"]
        for segment in snapshot["segments"]
        if segment["device"] == device and not segment.get("is_expandable")
    }


def install(torch, library, installer):
    """`installer` has the marks; None where they are turned off."""
    settings = Settings(torch, library)
    settings.send("torch", torch.__version__)
    history = None
    if os.environ.get("TIDEMARK_HISTORY") == "1":
        history = make_history(torch, library, settings, installer)

    def initialized():
        try:
            settings.initialized()
        except Exception:
            pass
        if history is not None:
            history.guarded(history.begin)

    def forked():
        settings.sent.clear()
        if history is not None:
            history.forked()

    def again():
        if history is not None:
            history.give_up("the first recording of an armed program alone has it")
        settings.sent.clear()
        settings.send("torch", torch.__version__)
        if torch.cuda.is_initialized():
            settings.initialized()

    library.again.append(again)
    torch.cuda._lazy_call(initialized)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forked)


def make_history(torch, library, settings, installer):
    try:
        if installer is None:
            raise Unfit("phases are turned off")
        history = History(torch, library, settings)
        history.install()
        installer.stepped = history.collect
        return history
    except Exception as error:
        library.note(("history: %s" % (error,)).encode("utf-8", "replace"), 1)
        return None
