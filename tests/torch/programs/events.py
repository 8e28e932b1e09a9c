"""Allocations that torch.profiler counts, too: its events are printed beside our marks."""
import json
import sys
import threading

import torch
from torch.profiler import ProfilerActivity, profile

from common import mark


def work():
    net = torch.nn.Sequential(torch.nn.Linear(50, 70), torch.nn.ReLU(), torch.nn.Linear(70, 5))
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(20, 50)).pow(2).sum().backward()
        optimizer.step()


def profiled():
    """The sizes of torch's own memory events, in their order; what is freed is negative."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        mark("profiled")
        work()
        mark("profiled end")
    events = profiler.profiler.kineto_results.events()
    return [event.nbytes() for event in events if event.name() == "[memory]"]


def in_threads():
    mark("threads")
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mark("threads end")


def known_sizes():
    kept = torch.empty(1000, dtype=torch.float64)
    mark("known", kept.data_ptr())
    one = torch.empty(12345, dtype=torch.uint8)
    view = one[100:200]
    two = torch.zeros(3, 7)
    two.resize_(1000)
    del one, view, kept
    mark("known end", two.data_ptr())


def too_much():
    mark("too much")
    try:
        torch.empty(1 << 61, dtype=torch.uint8)
    except RuntimeError:
        mark("refused")


if __name__ == "__main__":
    json.dump(profiled(), sys.stdout)
    in_threads()
    known_sizes()
    too_much()
