"""Trains on a GPU. At the end of step 20 it says so in FOLDER and goes on when it is recorded; it prints what
PyTorch's own counters say then, and at the end.

    attached_cuda.py FOLDER STEPS
"""
import ctypes
import os
import sys
import time

import torch

folder, steps = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)


def is_recorded():
    try:
        from tidemark._native import VERSION
    except ImportError:
        return False
    return (ctypes.PyDLL(None).tidemark_py_attach(VERSION, 0) == 1
            and hasattr(torch.nn.Module.__call__, "tidemark_original"))


def wait_to_be_recorded():
    with open(os.path.join(folder, "here.new"), "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, os.path.join(folder, "here"))
    end = time.time() + 600
    while not is_recorded():
        if time.time() > end:
            sys.exit("nobody records")
        torch.empty(1)
        time.sleep(0.001)


model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)]).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(steps):
    loss = model(torch.randn(64, 512, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss
    if step == 20:
        wait_to_be_recorded()
        torch.cuda.reset_peak_memory_stats()
        print(torch.cuda.memory_allocated())
print(torch.cuda.max_memory_allocated())
