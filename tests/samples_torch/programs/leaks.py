"""Leaks as programs have them, by kind: python leaks.py KIND."""
import functools
import sys

import torch
from torch import nn

STEPS = 14
KIND = sys.argv[1]


def build():
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


class Probe(object):
    def __init__(self, layer):
        self.activations = []
        layer.register_forward_hook(self.hook)

    def hook(self, module, args, output):
        self.activations.append(output)


@functools.lru_cache(maxsize=None)
def mask(length):
    return torch.ones(100 + length, 64).tril()


def collections():
    """Of five sorts at once."""
    global seen, features, probe, history
    seen, features, history = [], {}, []
    model, optimizer = build()
    probe = Probe(model[0])
    for step in range(STEPS):
        batch = torch.randn(100 + step, 64)
        seen.append(batch)
        optimizer.zero_grad()
        y = model(batch)
        features[step] = y.detach().clone()
        history.append({"loss": 0, "prediction": y})
        (y * mask(step)).pow(2).mean().backward()
        optimizer.step()


def summed():
    """Validation whose losses are summed up, without no_grad."""
    global total
    total = 0
    model, optimizer = build()
    for step in range(STEPS):
        x = torch.randn(100, 64)
        optimizer.zero_grad()
        (model(x) - x).pow(2).mean().backward()
        optimizer.step()
        total += (model(x) - x).pow(2).mean()


def state():
    """Of an RNN, never detached."""
    global hidden
    cell = nn.GRUCell(64, 64)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.0)
    hidden = torch.zeros(100, 64)
    for step in range(STEPS):
        optimizer.zero_grad()
        hidden = cell(torch.randn(100, 64), hidden)
        (hidden.sum() + 0 * hidden.pow(2).sum().detach()).backward(retain_graph=True)


def local(fails=False):
    kept = []
    model, optimizer = build()
    for step in range(STEPS):
        x = torch.randn(100, 64)
        optimizer.zero_grad()
        y = model(x)
        y.pow(2).mean().backward()
        optimizer.step()
        kept.append(y)
    if fails:
        raise MemoryError("as a refused request does")


def failed():
    local(True)


if __name__ == "__main__":
    {"collections": collections, "summed": summed, "state": state, "local": local,
     "failed": failed}[KIND]()
