"""The functions of libtidemark.so (profiler/door/pyapi.c); None where the library is not loaded."""
import ctypes
import sys
import types

VERSION = 5
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
        self.inner = self.bind("inner", [], ctypes.c_void_p)
        self.tag = self.bind("tag", [uint64, uint64, uint64, uint32, uint32, uint32])
        self.module = self.bind("module", [uint64, ctypes.c_char_p, ctypes.c_char_p], uint32)
        self.module_gone = self.bind("module_gone", [uint64])
        self.modules = self.bind("modules", [ctypes.c_void_p] * 4, int32)
        self.unknown = self.bind("modules_unknown", [], ctypes.c_void_p)
        self.places = self.bind("places", [uint32, ctypes.c_void_p, ctypes.c_void_p, uint32])
        self.hold = self.bind("hold", [uint32])
        self.phase = self.bind("phase", [int32, uint32, int32])
        self.step = self.bind("step", [uint64])
        self.over = self.bind("over", [])
        self.mark = self.bind("mark", [uint32, ctypes.c_int64])
        self.held = self.bind("held", [uint32, ctypes.c_int64])
        self.pool = self.bind("pool", [int32, int32, uint64], uint32)
        self.history = self.bind("history", [uint32, uint32, uint64, uint64, uint64])
        self.profiler = self.bind("profiler", [int32])
        self.setting = self.bind("setting", [ctypes.c_char_p])
        self.note = self.bind("note", [ctypes.c_char_p, int32])
        self.watch = self.bind("watch", [], int32)
        self.take_watched = self.bind("watched", [ctypes.POINTER(Watched), uint32], uint32)
        recording = self.bind("recording", [], ctypes.c_void_p)()
        self.recording = memoryview(ctypes.c_uint32.from_address(recording)).cast("B").cast("I")
        self.names = {}
        self.again = []  # to be called when another recording of this process begins
        self.bind_methods()

    def bind_methods(self):
        """Functions of Python's own kind in the place of the frequent ones, where it is CPython."""
        row, ask, pointer = 0, ctypes.pythonapi, ctypes.c_void_p
        make = getattr(ask, "PyCFunction_NewEx", None)
        if sys.implementation.name != "cpython" or make is None:
            return
        python = (pointer * 3)(*[ctypes.cast(one, pointer).value for one in (
            ask.PyLong_AsUnsignedLongLongMask, ask.PyLong_FromLong, ask.PyErr_Occurred)])
        methods = self.bind("methods", [pointer, ctypes.c_uint32], pointer)
        make = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, pointer, pointer)(
            ctypes.cast(make, pointer).value)
        while True:
            method = methods(python, row)
            if not method:
                break
            function = make(method, None, None)
            setattr(self, function.__name__, function)
            row += 1

    def bind(self, name, arguments, result=None):
        function = getattr(self.library, "tidemark_py_" + name)
        function.argtypes = arguments
        function.restype = result
        return function

    def inner_here(self):
        """Of the calling thread: the kind of its innermost mark, for libtidemark.so to read."""
        return memoryview(ctypes.c_uint32.from_address(self.inner())).cast("B").cast("I")

    def unknown_here(self):
        """How many calls were seen of modules that no source reported, for us to read."""
        return memoryview(ctypes.c_uint32.from_address(self.unknown())).cast("B").cast("I")

    def shorten(self, wrapper, original):
        """Calls of wrapper inside a forward become calls of original, without a frame; both are
        kept for good. False where this Python has no such way, as before 3.8, or it is taken."""
        if sys.implementation.name != "cpython":
            return False
        change = getattr(ctypes.pythonapi, "PyFunction_SetVectorcall", None)
        plain = what_runs_functions()
        if plain is None or (change is None and sys.version_info >= (3, 12)):
            return False
        if {type(wrapper), type(original)} != {types.FunctionType}:
            return False
        pointer = ctypes.c_void_p
        arguments = [ctypes.py_object] * 2 + [pointer] * 2 + [ctypes.c_uint32]
        shorten = self.bind("shorten", arguments, ctypes.c_int32)
        if not shorten(wrapper, original, plain, change and ctypes.cast(change, pointer),
                       object.__basicsize__):
            return False
        self.shortened = wrapper, original
        return True

    def name(self, text):
        """The number of a string."""
        number = self.names.get(text)
        if number is None:
            number = self.string(text.encode("utf-8", "replace"))
            if number and len(self.names) < 100000:  # 0: nobody records just now
                self.names[text] = number
        return number

    def watched(self):
        """Ends a watch: [(address, bytes)] of what was allocated in it and is still there."""
        blocks = (Watched * WATCH_MAX)()
        count = self.take_watched(blocks, WATCH_MAX)
        return [(blocks[i].address, blocks[i].bytes) for i in range(count)]


def what_runs_functions():
    """The address of what runs every function that nobody changed: exported up to 3.12; what answers
    for it is from 3.11 on."""
    plain = getattr(ctypes.pythonapi, "_PyFunction_Vectorcall", None)
    if plain is not None:
        return ctypes.cast(plain, ctypes.c_void_p).value
    ask = getattr(ctypes.pythonapi, "PyVectorcall_Function", None)
    if ask is None:
        return None
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)
    return prototype(ctypes.cast(ask, ctypes.c_void_p).value)(load)


def load():
    """The library while a recorder listens, or None."""
    try:
        library = Library()
        return library if library.attach(VERSION, 0) == 1 else None
    except (AttributeError, OSError):
        return None
