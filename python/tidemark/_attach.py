"""Executed in a program to which Tidemark was attached (`tidemark attach`), by a thread of its own. The
`first` time, while the main thread pauses (pyarm.c), it reports to `library` what is live already, as far as Python
knows it. It leaves `deaf`: whether blocks of the CPU are not reported.

What only autograd holds, in the middle of a step, no object of Python leads to: such blocks of the CPU
stay unknown, and so does that they go. Blocks of the CPU that go and were reported here are seen by the
library itself. Of CUDA the caching allocator's own list is reported."""
import ctypes
import gc
import sys
import time

CPU, CUDA = 0, 1  # ring/arena.h


def tensors(torch):
    """Of all that live, and their gradients: of which Python may know none."""
    for one in gc.get_objects():
        if issubclass(type(one), torch.Tensor):
            yield one
            try:
                gradient = one.grad if one.is_leaf else None
            except Exception:  # a subclass of somebody's
                gradient = None
            if gradient is not None:
                yield gradient


def storages(torch):
    """Memory that an allocator of torch gave: what came from elsewhere cannot be made larger."""
    pins = torch.cuda.is_available() and torch.cuda.is_initialized()
    for tensor in tensors(torch):
        try:
            if pins and tensor.is_pinned():
                continue  # of another allocator, whose blocks no recording has
            storage = tensor.untyped_storage()
            if storage.device.type == "cpu" and storage.resizable():
                yield storage.data_ptr(), storage.nbytes()
        except Exception:  # one that has none: sparse, meta, of a subclass of somebody's
            continue


def blocks_of_cuda(torch):
    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return
    for segment in torch.cuda.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                yield address, block["size"], segment["device"], segment.get("stream", 0)
            address += block["size"]


def tell(library, torch):
    lived = library.tidemark_py_lived
    lived.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int32, ctypes.c_int32, ctypes.c_uint64]
    lived.restype = None
    for address, size in storages(torch):
        lived(address, size, CPU, 0, 0)
    try:
        for address, size, device, stream in blocks_of_cuda(torch):
            lived(address, size, CUDA, device, stream)
    except Exception:  # another allocator than torch's own has no list
        pass


def is_deaf(library, torch):
    """By a block that comes now: calls inside of a libc10 may be bound so that nobody can take their place,
    and a program may have an allocator of its own."""
    noted = library.tidemark_py_noted
    noted.argtypes = [ctypes.c_uint64]
    try:
        block = torch.empty(64, dtype=torch.uint8, device="cpu")
        return not noted(block.untyped_storage().data_ptr())
    except Exception:  # not known, then
        return False


def attach(library, torch):
    wait = 0.001  # a main thread that is in C may stay there for long
    while not library.tidemark_py_paused():
        time.sleep(wait)
        wait = min(1.2 * wait, 0.1)
    try:
        if torch is not None:
            tell(library, torch)
    finally:
        library.tidemark_py_let()


known = sys.modules.get("torch")
known = known if hasattr(known, "Tensor") else None  # in the middle of its import
if first:  # noqa: F821
    attach(library, known)  # noqa: F821
deaf = known is not None and is_deaf(library, known)  # noqa: F821
