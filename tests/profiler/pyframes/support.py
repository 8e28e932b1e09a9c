"""What the tests of Python stacks share: the probe by ctypes, and Python's own view of a stack."""
import ctypes
import sys
import threading

PROBE = sys.argv[1]
with_gil = ctypes.PyDLL(PROBE)
without_gil = ctypes.CDLL(PROBE)
with_gil.probe_why_not.restype = ctypes.c_char_p
with_gil.probe_site.restype = ctypes.c_uint32
without_gil.probe_site.restype = ctypes.c_uint32
without_gil.probe_loop.argtypes = [ctypes.c_double, ctypes.c_void_p]
with_gil.probe_ns.restype = ctypes.c_double
with_gil.probe_stacks.restype = ctypes.c_uint64

MAX_DEPTH = 256
spare = []
compared = 0
counting = threading.RLock()  # a signal's handler may compare in the middle of it
failures = []


def begin():
    if with_gil.probe_begin() != 0:
        sys.exit("the probe cannot begin")


site = with_gil.probe_site
site_without_gil = without_gil.probe_site


def text(value):
    """A str as it is recorded."""
    return "".join("?" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in value)


def read(number):
    """The frames of a site, innermost first: (function, file, line)."""
    if number == 0:
        return []
    try:
        out = spare.pop()  # not one for each thread: a signal handler may come in between
    except IndexError:
        out = ctypes.create_string_buffer(1 << 20)
    used = with_gil.probe_read(ctypes.c_uint32(number), out, len(out))
    if used < 0:
        raise LookupError("site %d is not there" % number)
    parts = ctypes.string_at(out, used).decode("utf-8").split("\n")
    spare.append(out)
    return [(parts[i], parts[i + 1], int(parts[i + 2])) for i in range(0, len(parts) - 1, 3)]


def own(frame):
    """The same by Python itself."""
    frames = []
    while frame is not None and len(frames) < MAX_DEPTH:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append((text(name), text(code.co_filename), frame.f_lineno or 0))
        frame = frame.f_back
    return frames


def agree(number, frame=None):
    """Compares a site that was taken on the line that calls this. Returns the site."""
    global compared
    expected = own(frame or sys._getframe(1))
    got = read(number)
    with counting:
        compared += 1
    if got != expected:
        if len(failures) < 5:
            failures.append("got %r\n     not %r" % (got[:6], expected[:6]))
        else:
            failures.append("more")
    return number


def finish(least):
    """Ends the program: 0 if at least that many stacks were compared and none differed."""
    why = with_gil.probe_why_not()
    if why:
        failures.append("stacks were turned off: " + why.decode())
    if not with_gil.probe_is_valid():
        failures.append("the table is not valid")
    if compared < least:
        failures.append("%d stacks were compared, %d were expected" % (compared, least))
    for failure in failures[:5]:
        print("FAILED", failure)
    print("%d stacks compared, %d failures, Python %s" % (compared, len(failures), sys.version.split()[0]))
    sys.exit(1 if failures else 0)
