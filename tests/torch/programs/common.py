"""What the programs share. They run recorded and not: marks go nowhere in the second case."""
import hashlib

import torch

try:
    import tidemark
except ImportError:
    tidemark = None

torch.manual_seed(1)
torch.set_num_threads(1)


def mark(name, value=0):
    if tidemark is not None:
        tidemark.mark(name, value)


def digest(*tensors):
    """The bits of tensors, as text."""
    total = hashlib.sha256()
    for tensor in tensors:
        total.update(bytes(tensor.detach().contiguous().view(-1).view(torch.uint8).tolist()))
    return total.hexdigest()[:16]


class Cases(object):
    """Cases in the order of their definition; each returns what it computed."""

    def __init__(self):
        self.all = []

    def __call__(self, function):
        self.all.append(function)
        return function

    def run(self):
        for function in self.all:
            torch.manual_seed(7)
            mark("case " + function.__name__)
            tensors = function()
            mark("end")
            print(function.__name__, digest(*tensors), flush=True)
