"""The end of a rehearsal. A thread of PyTorch's autograd that lets go of the last backward takes the
interpreter's lock; if the interpreter has gone by then, the C++ runtime aborts the program. On a GPU a
program waits for its kernels for longer than that takes; in a rehearsal nothing takes time. So the end
waits, without the lock, until these threads have nothing to do."""
import atexit
import os
import time

TASKS = "/proc/self/task"
NAME = "pt_autograd"
NAP_S, CALM_NAPS, PATIENCE_S = 0.002, 3, 5.0


def read(*path):
    try:
        with open(os.path.join(TASKS, *path)) as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def autograd_threads():
    try:
        return [tid for tid in os.listdir(TASKS) if read(tid, "comm").startswith(NAME)]
    except OSError:
        return []


def is_asleep(tid):
    """Who waits for the lock while nobody has it is woken, and runs or wants to."""
    state = read(tid, "stat").rpartition(")")[2].split()
    return not state or state[0] == "S"


def settle():
    threads = autograd_threads()
    calm, end = 0, time.monotonic() + PATIENCE_S
    while threads and calm < CALM_NAPS and time.monotonic() < end:
        time.sleep(NAP_S)
        calm = calm + 1 if all(is_asleep(tid) for tid in threads) else 0


def install():
    if os.environ.get("TIDEMARK_REHEARSAL"):
        atexit.register(settle)
