"""Runs a sample of samples/torch as `python3 SAMPLE ARGUMENTS` does, and says where it is: a mark
with the phase's name wherever the sample lets itself be observed, value the step, -1 before the
first. On a GPU three more marks with PyTorch's own counters, in bytes. Ends with a line that has
the bits of the last loss and of all parameters.

    observed.py SAMPLE.py ARGUMENTS...

Marks are made while nothing is allocated, so they stand exactly behind what the phase allocated.
"""
import ctypes
import hashlib
import importlib
import os
import sys

import torch

try:
    import tidemark
except ImportError:
    tidemark = None

COUNTERS = {
    "cuda allocated": "memory_allocated",
    "cuda max allocated": "max_memory_allocated",
    "cuda reserved": "memory_reserved",
}


def load(path):
    folder, name = os.path.split(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name[:-len(".py")])


def observe(step, phase):
    if tidemark is None:
        return
    tidemark.mark(phase, -1 if step is None else step)
    if torch.cuda.is_available():
        for name, counter in COUNTERS.items():
            tidemark.mark(name, getattr(torch.cuda, counter)())


def digest(tensors):
    """The bits of tensors, as text, without an allocation that anybody counts."""
    total = hashlib.sha256()
    for tensor in tensors:
        bits = tensor.detach().cpu().contiguous()
        total.update(ctypes.string_at(bits.data_ptr(), bits.numel() * bits.element_size()))
    return total.hexdigest()[:16]


def finish(model, loss):
    print("bits", float(loss.item()).hex(), digest(model.parameters()), flush=True)


def one_rank(options):
    """Work of ddp.py."""
    finish(*load(sys.argv[0]).one_rank(options, observe))


def main():
    if len(sys.argv) > 1 and not sys.argv[0].endswith("ddp.py"):
        sys.argv = sys.argv[1:]
    sample = load(sys.argv[0])
    if hasattr(sample, "start_ranks"):
        return sample.main(one_rank)
    finish(*sample.train(sample.parse(), observe))
    return 0


if __name__ == "__main__":
    sys.exit(main())
