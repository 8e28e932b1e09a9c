"""Blocks of memory without PyTorch: reported through libtidemark.so's table (include/tidemark.h),
for recorded programs of the tests that have to be quick."""
import ctypes


class Heap(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("device_kind", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
        ("unused", ctypes.c_uint32),
        ("stream", ctypes.c_uint64),
        ("pool", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
    ]


class Block(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("heap", ctypes.c_uint32),
        ("site", ctypes.c_uint32),
        ("has_requested", ctypes.c_uint32),
        ("address", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("requested", ctypes.c_uint64),
    ]


class Table(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("heap_open", ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.POINTER(Heap))),
        (
            "site",
            ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32),
        ),
        ("block_alloc", ctypes.CFUNCTYPE(None, ctypes.POINTER(Block))),
        ("block_free", ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint64)),
    ]


class Memory:
    """A virtual device; addresses are made up and never used again."""

    VIRTUAL = 2

    def __init__(self):
        attach = ctypes.CDLL(None).tidemark_attach
        attach.restype = ctypes.POINTER(Table)
        attach.argtypes = [ctypes.c_uint32]
        self.table = attach(1).contents
        heap = Heap(size=ctypes.sizeof(Heap), device_kind=self.VIRTUAL, name=b"test")
        self.heap = self.table.heap_open(ctypes.byref(heap))
        self.next = 1 << 30

    def take(self, count, function="take"):
        self.next += count + 4096
        site = self.table.site(function.encode(), b"memory.py", 1)
        block = Block(ctypes.sizeof(Block), self.heap, site, 0, self.next, count, 0)
        self.table.block_alloc(ctypes.byref(block))
        return self.next

    def give(self, address):
        self.table.block_free(self.heap, address)
