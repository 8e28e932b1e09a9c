"""Backward calls that nest so deeply that the autograd engine hands them to threads of its own, and
work in threads that have no Python. Prints, as JSON, for blocks of sizes that occur once the frames
of this file that their stacks are to have, innermost first; "autograd" stands where a thread of the
engine begins.

The engine takes another thread at a depth of 60.
"""
import json
import sys
import threading

import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(1)
torch.set_num_threads(1)
DEPTH = 130
expected = {}  # bytes: frames
calls = []  # stacks of the open backward calls, outermost first, with the thread of each
_bytes, lock = [400000], threading.Lock()


def own_frames(frame):
    found = []
    while frame is not None:
        if frame.f_code.co_filename == __file__:
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
            found.append([name, frame.f_lineno])
        frame = frame.f_back
    return found


def whole_stack(frame):
    """With the stack of the call that brought work to this thread, if it is one of the engine."""
    found, thread = own_frames(frame), threading.get_ident()
    if found[-1][0] == "<module>" or "in_a_thread" in found[-1][0]:
        return found
    others = [stack for stack, other in calls if other != thread]
    return found + ["autograd"] + others[-1]


def block():
    """Of a size that no other has."""
    stack = whole_stack(sys._getframe(1))
    with lock:
        _bytes[0] += 4096
        size = _bytes[0]
        expected[size] = stack
    return torch.empty(size, dtype=torch.uint8)


def opened(frame):
    calls.append((whole_stack(frame), threading.get_ident()))


class Deep(torch.autograd.Function):
    """Its backward makes another backward call, and so on."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        first = block()
        if ctx.depth:
            with torch.enable_grad():
                y = nested(torch.ones(3, requires_grad=True), ctx.depth - 1)
            opened(sys._getframe()); y.backward()
            calls.pop()
        second = block()
        del first, second
        return gradient.clone(), None


class Native(object):
    """Work of the engine without Python: the gradient of exp, of a size that occurs once."""

    def __init__(self):
        _bytes[0] += 4096
        self.bytes = _bytes[0]

    def __call__(self, x):
        big = torch.zeros(self.bytes // 4) + x.sum()
        return big.exp().sum()


def nested(x, depth):
    return Deep.apply(x, depth).sum()


def deep():
    x = torch.ones(3, requires_grad=True)
    y = nested(x, DEPTH)
    opened(sys._getframe()); y.backward()
    calls.pop()
    block()


class Bottom(torch.autograd.Function):
    """In a backward call that the engine hands on, what it does itself has no Python frame."""

    @staticmethod
    def forward(ctx, x, depth, native):
        ctx.depth, ctx.native = depth, native
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            x = torch.ones(3, requires_grad=True)
            if ctx.depth:
                y = Bottom.apply(x, ctx.depth - 1, ctx.native).sum()
            else:
                y = ctx.native(x)
        opened(sys._getframe()); torch.autograd.grad(y, x)
        calls.pop()
        return gradient.clone(), None, None


def native():
    """Deeper than one thread of the engine goes by itself, by a few."""
    for depth in range(56, 63):
        work = Native()
        x = torch.ones(3, requires_grad=True)
        y = Bottom.apply(x, depth, work).sum()
        y.backward()
        print("native", work.bytes)


def checkpointed(x, depth):
    if depth == 0:
        return (x * 2).exp()
    return checkpoint(checkpointed, x, depth - 1, use_reentrant=True) * 2


def checkpoints():
    x = torch.full((1000,), 0.01, requires_grad=True)
    y = checkpointed(x, 70).sum()
    y.backward()
    block()


def in_a_thread(barrier):
    x = torch.ones(3, requires_grad=True)
    for _ in range(20):
        barrier.wait()
        y = nested(x, 0)
        y.backward()


def beside_each_other():
    """Backward calls of two threads; each does its work itself."""
    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=in_a_thread, args=(barrier,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def inner(x):
    return x.exp().sum()


@torch.jit.script
def script(x):
    future = torch.jit.fork(inner, x)
    return torch.jit.wait(future)


def without_python():
    """Of the pool that runs scripts beside each other."""
    x = torch.zeros(300000)
    for _ in range(4):
        script(x)


if __name__ == "__main__":
    for work in (deep, native, checkpoints, without_python, beside_each_other):
        work()
    print(json.dumps({str(size): frames for size, frames in expected.items()}))
