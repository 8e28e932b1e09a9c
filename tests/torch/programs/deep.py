"""Modules in modules, as deep as Python lets them, and what else goes past the wrapper around
their calls. See test_deep.py for what is to be seen of each; what is printed is compared with a run
that nobody records."""
import sys
import threading

import torch
from torch import nn

from common import Cases, mark

case = Cases()
LIMITS = range(150, 174)


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


def chain(length, innermost):
    module = innermost
    for _ in range(length):
        module = Outer(module)
    return module


def reaches(length):
    try:
        chain(length, nn.Identity())(torch.ones(1))
        return True
    except RecursionError:
        return False


@case
def deepest():
    low, high = 0, sys.getrecursionlimit()
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    print("deepest", low)
    return [chain(5, nn.Identity())(torch.ones(1))]


class Counting(nn.Module):
    """Counts the frames of the helper that it is called through."""

    def forward(self, x):
        frame, self.count = sys._getframe(), 0
        while frame is not None:
            self.count += "/tidemark/_" in frame.f_code.co_filename
            frame = frame.f_back
        return x


@case
def frames():
    counting = Counting()
    result = chain(20, counting)(torch.ones(1))
    mark("frames of the helper", counting.count)
    return [result]


class Wrong(Exception):
    pass


class Raising(nn.Module):
    def forward(self, x):
        raise Wrong


class Catching(nn.Module):
    def __init__(self):
        super().__init__()
        self.raising, self.other = chain(20, Raising()), chain(3, nn.Identity())

    def forward(self, x):
        try:
            return self.raising(x)
        except Wrong:
            return self.other(x)


@case
def exceptions():
    net, x = chain(5, Catching()), torch.ones(1)
    results = [net(x)]
    try:
        net.inner.inner.inner.inner.inner.raising(x)
    except Wrong:
        results.append(net(x))
    return results


class Meeting(nn.Module):
    """Two threads are here at the same time."""

    barrier = threading.Barrier(2)

    def forward(self, x):
        self.barrier.wait(60)
        return x


@case
def two_threads():
    def run():
        for _ in range(10):
            chain(5, Meeting())(torch.ones(1))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return []


@case
def hooks():
    net, other = chain(2, nn.Linear(3, 3)), chain(2, nn.Linear(3, 3))
    net.inner.register_forward_hook(lambda module, args, result: other(result))
    x = torch.ones(1, 3)
    x.requires_grad_()
    x.register_hook(lambda gradient: other(gradient))
    net(x).sum().backward()
    return [x.grad]


class Calling(Outer):
    def __call__(self, x):
        return super().__call__(x)


@case
def direct():
    net, x = chain(2, Calling(nn.Identity())), torch.ones(1)
    return [Calling(net)(x), nn.Module.__call__(net, x), net.__call__(x), net(x)]


class Yielding(Outer):
    def forward(self, x):
        yield self.inner(x)
        yield self.inner(x)


@case
def generators():
    return list(Yielding(chain(2, nn.Identity()))(torch.ones(1)))


def fall(net, x):
    net(x)
    fall(net, x)


@case
def recursion():
    """Outermost calls at every distance from the limit, and then one far from it."""
    net, x, usual = chain(2, nn.Identity()), torch.ones(1), sys.getrecursionlimit()
    for limit in LIMITS:
        try:
            sys.setrecursionlimit(limit)
            fall(net, x)
        except RecursionError:
            pass
        finally:
            sys.setrecursionlimit(usual)
        mark("after %d" % limit)
        net(x)
        mark("end")
    return [net(x)]


if __name__ == "__main__":
    case.run()
