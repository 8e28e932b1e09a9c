"""A small training whose memory on the GPU comes from libtidemark_alloc.so: all of it, or the
segments of the model's pool alone. docs/pluggable.md says what PyTorch loses by either.

    tidemark record -- python3 pluggable.py --library /usr/local/lib/libtidemark_alloc.so
    tidemark record -- python3 pluggable.py --library ... --pool

The recording then has, for each block, the size that was asked for and its stream. There is
nothing to see without a GPU, and the program says so.
"""
import argparse
import ctypes
import sys

import torch
from torch import nn

FUNCTIONS = {
    "set_init_fn": "tidemark_torch_init",
    "set_reset_fn": "tidemark_torch_reset",
    "set_memory_fraction_fn": "tidemark_torch_memory_fraction",
    "set_base_alloc_fn": "tidemark_torch_base",
    "set_record_stream_fn": "tidemark_torch_record_stream",
}


def pluggable(path, malloc, free):
    return torch.cuda.memory.CUDAPluggableAllocator(path, malloc, free)


def take_over(path):
    """All of PyTorch's memory on every GPU of this process, for good: before it is first used."""
    allocator = pluggable(path, "tidemark_torch_malloc", "tidemark_torch_free")
    library = ctypes.CDLL(path)
    for setter, name in FUNCTIONS.items():
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        getattr(allocator.allocator(), setter)(address)
    torch.cuda.memory.change_current_allocator(allocator)


def new_pool(path):
    """A pool whose segments come from the library. The allocator must outlive it."""
    allocator = pluggable(path, "tidemark_torch_segment_malloc", "tidemark_torch_segment_free")
    return allocator, torch.cuda.MemPool(allocator.allocator())


def build(options):
    layers = []
    for _ in range(options.layers):
        layers += [nn.Linear(options.width, options.width), nn.ReLU()]
    return nn.Sequential(*layers).to("cuda")


def train(model, options):
    optimizer = torch.optim.Adam(model.parameters())
    inputs = torch.randn(options.batch, options.width, device="cuda")
    for _ in range(options.steps):
        optimizer.zero_grad(set_to_none=True)
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
    return float(loss)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--library", required=True, help="libtidemark_alloc.so, with its folder")
    parser.add_argument("--pool", action="store_true", help="the model's segments alone")
    for name, value in (("width", 1024), ("layers", 8), ("batch", 256), ("steps", 3)):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"default {value}")
    return parser.parse_args()


def main():
    options = parse()
    if not torch.cuda.is_available():
        sys.exit("pluggable.py: there is no GPU here")
    if not hasattr(torch.cuda.memory, "CUDAPluggableAllocator"):
        sys.exit(f"pluggable.py: torch {torch.__version__} takes no allocator: 2.0 and later do")
    if options.pool:
        allocator, pool = new_pool(options.library)
        with torch.cuda.use_mem_pool(pool):
            model = build(options)
    else:
        take_over(options.library)
        model = build(options)
    print(f"loss {train(model, options):.6f}")
    if options.pool:
        print(f"PyTorch's own count: {torch.cuda.max_memory_allocated()} bytes at the peak")
        del model, pool, allocator


if __name__ == "__main__":
    main()
