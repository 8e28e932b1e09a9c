"""Ends right behind a backward, while the thread of autograd that lets go of it hardly gets any
processor: all threads share one, and that one is the least."""
import os

import torch
from torch import nn

TASKS = "/proc/self/task"


def step(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(4, 8).cuda()).sum().backward()
    optimizer.step()


def hold_autograd_up():
    core = min(os.sched_getaffinity(0))
    for tid in os.listdir(TASKS):
        os.sched_setaffinity(int(tid), {core})
        with open(os.path.join(TASKS, tid, "comm")) as file:
            if file.read().startswith("pt_autograd"):
                os.setpriority(os.PRIO_PROCESS, int(tid), 19)


def main():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    step(model, optimizer)
    hold_autograd_up()
    step(model, optimizer)
    print("done", flush=True)


if __name__ == "__main__":
    main()
