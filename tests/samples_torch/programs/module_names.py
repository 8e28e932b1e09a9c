"""Names of modules that are wrapped, and of copies of a model.
usage: wrapped | copies | many | contained"""
import copy
import sys

import torch
from torch import nn


class OptimizedModule(nn.Module):
    """As torch.compile has it."""

    def __init__(self, inner):
        super().__init__()
        self._orig_mod = inner

    def forward(self, x):
        return self._orig_mod(x)


class DistributedDataParallel(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.module = inner

    def forward(self, x):
        return self.module(x)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 64)
        self.module = nn.Linear(64, 16)  # a name that wrappers use, too

    def forward(self, x):
        return x + self.module(self.up(x).relu())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([OptimizedModule(Block()) for _ in range(2)] + [Block()])
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x).sum()


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.ones(8, 16)).backward()
        optimizer.step()
        optimizer.zero_grad()


def wrapped():
    train(DistributedDataParallel(OptimizedModule(Model())))


def copies():
    """Each is let go before the next is made."""
    model = Model()
    train(model)
    for _ in range(200):
        another = copy.deepcopy(model)
        another(torch.ones(8, 16)).backward()
        del another


def many():
    from tidemark import _names

    _names.MOST_NAMES = 60
    models = [Model() for _ in range(20)]
    for model in models:
        train(model)


class Task(nn.Module):
    """As Lightning has it: what is called is not the module, but a method of it."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
        self.critic = nn.Sequential(nn.Linear(4, 1))

    def training_step(s, x):
        return s.critic(s.net(x)).sum()


def contained():
    task = Task()
    optimizer = torch.optim.SGD(task.parameters(), lr=0.1)
    for _ in range(2):
        task.training_step(torch.ones(8, 16)).backward()
        optimizer.step()
        optimizer.zero_grad()
    alone = nn.Sequential(nn.Linear(16, 5))
    alone(torch.ones(8, 16)).sum().backward()


{"wrapped": wrapped, "copies": copies, "many": many, "contained": contained}[sys.argv[1]]()
