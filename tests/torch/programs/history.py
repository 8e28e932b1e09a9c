"""Steps of a small model, with an allocator of our own in the place of CUDA's: see fake_cuda.py.
The arguments say which cases: each has a forked process of its own, for the import takes longer than
all of them."""
import os
import sys

import fake_cuda
import torch
from common import mark

fake_cuda.install(torch)
first, second = fake_cuda.devices
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def step():
    optimizer.zero_grad()
    net(torch.ones(3, 4)).sum().backward()
    optimizer.step()


def usual():
    """Requests, two segments, a block that waited, a private pool, another device."""
    fake_cuda.initialize(torch)
    kept = first.alloc(1000)
    waiting = first.alloc(3000)
    first.free(waiting, waits=True)
    first.alloc(700)
    step()
    first.complete(waiting)
    big = first.alloc(fake_cuda.SEGMENT - 100, pool=(0, 3))
    second.alloc(5)
    first.free(big)
    first.give(max(first.segments))
    first.free(kept)
    step()
    first.map(0x7e0000000000, 4 << 20)
    first.alloc(1)
    for observer in fake_cuda.observers:  # as when an allocation fails
        observer(0, 1 << 40, 1 << 30, 1 << 20)
    mark("failed")
    first.alloc(2)  # sent at the end of the process


def late():
    """CUDA was there before torch could tell us: blocks, segments and pages of before."""
    step()
    mark("begins")
    first.alloc(100)
    first.map(0x7e0000000000, 4 << 20)
    torch.cuda._queued_calls.clear()
    fake_cuda.started.append(True)
    step()
    first.alloc(200)
    step()


def overflow():
    """More in a step than is kept, then as before."""
    from tidemark import _history

    _history.MOST, _history.CLEAR_AT = 40, 30
    fake_cuda.initialize(torch)
    first.alloc(11)
    step()
    for i in range(40):
        first.free(first.alloc(20 + i))
    big = first.alloc(fake_cuda.SEGMENT)
    first.map(0x7e0000000000, 4 << 20)
    step()
    first.free(big)
    first.give(max(first.segments))
    first.alloc(12)
    step()
    for i in range(7):
        first.free(first.alloc(100 + i))
        step()
    _history.CLEAR_AT = 0
    fake_cuda.between.append(lambda: first.alloc(fake_cuda.SEGMENT))
    step()
    first.alloc(13)
    step()
    first.alloc(14)
    step()


def own():
    """The program keeps a history itself."""
    fake_cuda.initialize(torch)
    first.alloc(100)
    torch.cuda.memory._record_memory_history(max_entries=7)
    first.alloc(200)
    step()


def fails():
    """A snapshot that cannot be had, once it is wanted."""
    def no_snapshot(device=None):
        raise RuntimeError("no such thing\nand more")

    fake_cuda.initialize(torch)
    torch.cuda.memory._snapshot = no_snapshot
    first.alloc(100)
    step()
    step()


def apart(case):
    """As if it were a program of its own."""
    child = os.fork()
    if child == 0:
        mark("case " + case)
        globals()[case]()
        print([call[:3] for call in fake_cuda.calls])
        return True
    if os.waitpid(child, 0)[1]:
        sys.exit("%s failed" % case)
    return False


if __name__ == "__main__":
    if len(sys.argv) == 2:
        globals()[sys.argv[1]]()
        print([call[:3] for call in fake_cuda.calls])
    else:
        any(apart(case) for case in sys.argv[1:])
