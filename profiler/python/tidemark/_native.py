"""The functions of libtidemark.so (profiler/pyapi.c); None where the library is not loaded."""
import ctypes

VERSION = 1
WATCH_MAX = 128


class Watched(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class Library(object):
    """Bound once; attributes are C functions that take and return integers, but for names."""

    def __init__(self):
        int32, uint32, uint64 = ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64
        self.library = ctypes.PyDLL(None)
        self.attach = self.bind("attach", [uint32, int32], int32)
        self.string = self.bind("string", [ctypes.c_char_p], uint32)
        self.heap = self.bind("heap", [int32, int32], uint32)
        self.enter = self.bind("enter", [uint32, uint64, uint64, uint32])
        self.exit = self.bind("exit", [uint32, uint64, uint64, int32])
        self.backward = self.bind("backward", [int32])
        self.forked = self.bind("forked", [])
        self.is_engine = self.bind("is_engine", [], int32)
        self.tag = self.bind("tag", [uint64, uint64, uint64, uint32, uint32, uint32])
        self.places = self.bind("places", [uint32, ctypes.c_void_p, ctypes.c_void_p, uint32])
        self.hold = self.bind("hold", [uint32])
        self.phase = self.bind("phase", [int32, uint32, int32])
        self.step = self.bind("step", [uint64])
        self.over = self.bind("over", [])
        self.mark = self.bind("mark", [uint32, ctypes.c_int64])
        self.pool = self.bind("pool", [int32, int32, uint64], uint32)
        self.history = self.bind("history", [uint32, uint32, uint64, uint64, uint64])
        self.profiler = self.bind("profiler", [int32])
        self.setting = self.bind("setting", [ctypes.c_char_p])
        self.note = self.bind("note", [ctypes.c_char_p, int32])
        self.watch = self.bind("watch", [], int32)
        self.take_watched = self.bind("watched", [ctypes.POINTER(Watched), uint32], uint32)
        self.names = {}

    def bind(self, name, arguments, result=None):
        function = getattr(self.library, "tidemark_py_" + name)
        function.argtypes = arguments
        function.restype = result
        return function

    def name(self, text):
        """The number of a string."""
        number = self.names.get(text)
        if number is None:
            number = self.string(text.encode("utf-8", "replace"))
            if len(self.names) < 100000:
                self.names[text] = number
        return number

    def watched(self):
        """Ends a watch: [(address, bytes)] of what was allocated in it and is still there."""
        blocks = (Watched * WATCH_MAX)()
        count = self.take_watched(blocks, WATCH_MAX)
        return [(blocks[i].address, blocks[i].bytes) for i in range(count)]


def load():
    """The library while a recorder listens, or None."""
    try:
        library = Library()
        return library if library.attach(VERSION, 0) == 1 else None
    except (AttributeError, OSError):
        return None
