"""Kernels of Triton's and graphs beside a mask: the mask stays known, and where they write nothing is. Run
inside of `tidemark rehearse`."""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def doubled(x, y, n, block: tl.constexpr):
    at = tl.arange(0, block)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def full():
    return torch.full((100,), 5, device="cuda")


def by_triton():
    x, written = torch.arange(100, device="cuda"), full()
    doubled[(1,)](x, written, 100, block=128)
    return written


def by_graph():
    x, written, graph = torch.rand(10, 10, device="cuda"), full(), torch.cuda.CUDAGraph()
    x.softmax(0)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        written.copy_((x.softmax(0).view(-1) * 9))
    graph.replay()
    return written


def main():
    mask, wrong = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]]).cuda(), 0
    for function in (by_triton, by_graph):
        for _ in range(2):
            written = function().sum().item()
            seen = mask.sum().item(), mask.nonzero().shape[0]
            print("%s: read %d; mask %s" % (function.__name__, written, seen))
            wrong += written != 0 or seen != (5, 5)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
