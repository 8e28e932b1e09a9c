"""So many steps of a small model. Says each thousand how much of the host's memory it holds.

    many_steps.py STEPS
"""
import sys

import torch
from torch import nn

EACH = 1000


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(1, int(sys.argv[1]) + 1):
        x, y = torch.randn(16, 64).cuda(), torch.randint(0, 10, (16,)).cuda()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
        if step % EACH == 0:
            print("step", step, "resident", resident(), flush=True)


if __name__ == "__main__":
    main()
