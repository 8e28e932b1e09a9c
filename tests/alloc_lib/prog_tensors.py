"""Calls libtidemark_alloc.so as PyTorch would, from Python: prog_tensors.py LIBRARY"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
malloc, free = library.tidemark_torch_malloc, library.tidemark_torch_free
malloc.restype = ctypes.c_void_p
malloc.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
free.restype = None
free.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
segment_malloc = library.tidemark_torch_segment_malloc
segment_malloc.restype = ctypes.c_void_p
segment_malloc.argtypes = malloc.argtypes


def a_weight():
    return malloc(1000, 0, None)


def an_activation():
    return malloc(3 << 20, 0, 0x20)


weight = a_weight()
for _ in range(2):
    activation = an_activation()
    free(activation, 3 << 20, 0, 0x20)
assert segment_malloc(20 << 20, 1, None)
assert malloc(5 << 30, 0, None) is None
