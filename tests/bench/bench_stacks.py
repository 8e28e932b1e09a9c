"""What a Python stack costs the program, beside Python's own ways to look at one. Rows for
docs/benchmarks.md; run by scripts/bench.sh as

    tests/profiler/pyframes/run.sh PYTHON PROBE tests/bench/bench_stacks.py

The hook stands on the innermost line of a stack of so many functions; in turns with the floor (read
the clock and store 64 bytes) and with walks of the same stack by sys._getframe and by the traceback
module, as a profiler in Python would do it.
"""
import ctypes
import os
import statistics
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "profiler", "pyframes"))
import support  # noqa: E402

ROUNDS = 25
COUNT = 4000  # a burst is short: most are not interrupted
for name in ("probe_ns", "probe_hook_ns", "probe_floor_ns"):
    getattr(support.with_gil, name).restype = ctypes.c_double


def chain_of(count, function):
    """A function that calls function() through so many others."""
    names = {"f0": function}
    for i in range(count):
        exec("def f%d():\n    return f%d()\n" % (i + 1, i), names)
    return names["f%d" % count]


def hook():
    return support.with_gil.probe_hook_ns(COUNT)


def stack():
    return support.with_gil.probe_ns(COUNT)


def floor():
    return support.with_gil.probe_floor_ns(COUNT)


def walk():
    frame, found = sys._getframe(1), []
    while frame is not None:
        found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def ns_of(function, count):
    start = time.perf_counter_ns()
    for _ in range(count):
        function()
    return (time.perf_counter_ns() - start) / count


def by_getframe():
    return ns_of(walk, COUNT // 8)


def by_traceback():
    return ns_of(traceback.extract_stack, COUNT // 80)


def frames_here():
    return len(walk())


def in_turns(chains, rounds):
    took = []
    for _ in range(rounds):
        took.append([])
        for chain in chains:
            took[-1].append(chain())
    return took


def measure(frames, what, function, goal):
    below = in_turns([frames_here], 1)[0][0]  # with the frames that are there in any case
    chains = [chain_of(frames - below, one) for one in (floor, function, frames_here)]
    rounds = in_turns(chains, ROUNDS)
    assert rounds[0][2] == frames
    least, took = statistics.median(r[0] for r in rounds), statistics.median(r[1] for r in rounds)
    ratio = statistics.median(r[1] / r[0] for r in rounds)
    print("| %s | %.4g ns | %.4g ns | %.2f | %s |" % (what, took, least, ratio, goal), flush=True)


class Module(object):
    """Its call and its forward are two of the frames, above those of function()."""

    def __init__(self, function, depth=0):
        self.function = chain_of(depth, function)

    def __call__(self):
        return self.forward()

    def forward(self):
        return self.function()


def engine():
    pass


class Begin(object):
    """What the helper does to have modules found."""

    names = id(Module.forward.__code__.co_name), id(Module.__call__.__code__.co_name), id(engine.__code__)

    def plainly(self):
        return support.with_gil.probe_modules_begin(*(self.names + (id(self),)))

    def captured(self):
        return support.with_gil.probe_modules_begin(*(self.names + ((lambda: id(self))(),)))


def measure_module(frames, depth, what):
    """The hook in a module, in turns with the hook in plain functions as deep."""
    module = Module(hook, depth)
    support.with_gil.probe_module(id(module), 1)
    below = in_turns([frames_here], 1)[0][0]
    chains = [chain_of(frames - below, hook), chain_of(frames - below - depth - 3, module)]
    rounds = in_turns(chains, 5 * ROUNDS)
    more = statistics.median(r[1] - r[0] for r in rounds)
    took, least = statistics.median(r[1] for r in rounds), statistics.median(r[0] for r in rounds)
    ratio = statistics.median(r[1] / r[0] for r in rounds)
    print("| %s | %.4g ns | %.4g ns | %.2f | <= +20 ns: %+.1f |" % (what, took, least, ratio, more),
          flush=True)
    support.with_gil.probe_module(id(module), 0)


support.with_gil.probe_modules_begin.argtypes = [ctypes.c_void_p] * 4
support.with_gil.probe_module.argtypes = [ctypes.c_uint64, ctypes.c_uint32]
support.begin()
for _ in range(65536 // COUNT + 1):
    hook()  # once through the ring: its pages are there
measure(20, "hook with a Python stack of 20 frames", hook, "<= 300 ns")
measure(50, "hook with a Python stack of 50 frames", hook, "for the record")
measure(20, "a Python stack of 20 frames by itself", stack, "for the record")
measure(20, "the same 20 frames by sys._getframe()", by_getframe, "for comparison")
measure(20, "the same 20 frames by traceback.extract_stack()", by_traceback, "for comparison")
assert Begin().plainly() and Begin().captured()
measure_module(20, 0, "hook in a module's forward, 20 frames; floor: as many plain frames")
measure_module(20, 4, "hook in four functions in a module's forward, 20 frames; the same floor")
if support.with_gil.probe_why_not():
    sys.exit(support.with_gil.probe_why_not().decode())
