"""What a stack costs, in ns, at several depths; not a test. In turns with the floor (read the clock
and store 64 bytes); medians. Run as: run.sh PYTHON PROBE bench_stacks.py"""
import ctypes
import statistics
import sys

import support

ROUNDS = 15
COUNT = 20000
for function in ("probe_ns", "probe_hook_ns", "probe_floor_ns"):
    getattr(support.with_gil, function).restype = ctypes.c_double


def at_depth(depth, function):
    """Calls function() below `depth` frames of different functions, this one included."""
    names = {"last": lambda: function(COUNT)}
    chain = "last"
    for i in range(depth):
        exec("def f%d():\n    return %s()\n" % (i, chain), names)
        chain = "f%d" % i
    return names[chain]


support.begin()
print("Python %s" % sys.version.split()[0])
print("| frames | stack | hook with stack | floor |")
print("|---|---|---|---|")
for frames in (6, 11, 20, 31, 51):
    calls = [at_depth(frames - 2, getattr(support.with_gil, name))
             for name in ("probe_ns", "probe_hook_ns", "probe_floor_ns")]
    rounds = [[call() for call in calls] for _ in range(ROUNDS)]
    print("| %d | %s |" % (frames, " | ".join(
        "%.0f" % statistics.median(column) for column in zip(*rounds))))
if support.with_gil.probe_why_not():
    sys.exit(support.with_gil.probe_why_not().decode())
