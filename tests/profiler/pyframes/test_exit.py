"""Programs that end while daemon threads capture without pause. Freed memory is overwritten, so
that reading the state of a thread that finalization has freed would be seen."""
import os
import subprocess
import sys

PROBE = sys.argv[1]
RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 12

PROGRAM = '''
import ctypes, sys, threading, time
sys.argv = ["x", %r]
sys.path.insert(0, %r)
import support
from support import site, without_gil
support.begin()
counts = [ctypes.c_uint64() for _ in range(6)]
for count in counts: # written by threads that outlive every object
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(count))

class Late:
    """Destroyed after the states of the other threads: gives them time to read what is gone."""
    def __del__(self, sleep=time.sleep):
        sleep(0.01)

late = Late()

def deep(n, count):
    if n:
        return deep(n - 1, count)
    without_gil.probe_loop(20.0, ctypes.byref(count))

for n, count in enumerate(counts):
    threading.Thread(target=deep, args=(n * 30, count), daemon=True).start()
threading.Thread(target=without_gil.probe_slow_captures, daemon=True).start()
while min(count.value for count in counts) < 1000 or not support.with_gil.probe_compared():
    site()
    for _ in range(100): pass
print("exits")
%s
'''
ENDS = ["", "sys.exit(3)", "raise SystemExit(0)", "import atexit; atexit.register(site)"]


def run(i):
    end = ENDS[i % len(ENDS)]
    program = PROGRAM % (PROBE, os.path.dirname(os.path.abspath(__file__)), end)
    environment = dict(os.environ, PYTHONMALLOC="debug")
    done = subprocess.run([sys.executable, "-c", program], env=environment, timeout=900,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wanted = 3 if "(3)" in end else 0
    if done.returncode != wanted or b"exits" not in done.stdout:
        print("run %d (%r) ended with %d: %s" % (i, end, done.returncode, done.stdout[-2000:]))
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2] != "runs":
        sys.exit("usage: test_exit.py PROBE [runs N]")
    wrong = sum(run(i) for i in range(RUNS))
    print("%d of %d runs were wrong" % (wrong, RUNS))
    sys.exit(1 if wrong else 0)
