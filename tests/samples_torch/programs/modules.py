"""Modules of every shape: see test_modules.py."""
import gc
import os
import sys
import weakref

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from module_truth import Truth  # noqa: E402

WIDTH, LENGTH, VOCAB = 64, 32, 500


class Attention(nn.Module):
    """`self` is in a cell, nodes are made without a block, and functions are called."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        def heads(one):
            return one.view(*one.shape[:2], 4, WIDTH // 4).transpose(1, 2) * self.scale()

        q, k, v = [heads(one) for one in self.qkv(x).split(WIDTH, dim=2)]
        weights = F.softmax(q @ k.transpose(2, 3), dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape))

    def scale(self):
        return 0.5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(inplace=True),
                                 nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids, targets):
        x = self.embed(ids)
        x = self.blocks[0](x)
        x = checkpoint(self.blocks[1], x, use_reentrant=REENTRANT)
        x = self.blocks[2](x)
        x = nn.Softplus()(x)  # made as it is called: its blocks are this one's
        return F.cross_entropy(self.head(x).view(-1, VOCAB), targets.view(-1))


class Second(nn.Module):
    """Its paths are those of Model, too."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, ids):
        return self.head(self.embed(ids)).mean()


def step(truth, model, optimizer, *inputs):
    loss = model(*inputs)
    loss.backward()
    truth.over()
    optimizer.step()
    optimizer.zero_grad()


def replace(truth, model):
    """Another object in the place of a module; the first one's memory is used again."""
    gone = weakref.ref(model.blocks[2].mlp)
    truth.forget(model.blocks[2].mlp)
    model.blocks[2].mlp = nn.Sequential(nn.Linear(WIDTH, 5 * WIDTH), nn.GELU(),
                                        nn.Linear(5 * WIDTH, WIDTH))
    gc.collect()
    print("gone" if gone() is None else "kept")
    truth.watch(model)


REENTRANT = "reentrant" in sys.argv
torch.manual_seed(0)
ids = torch.randint(0, VOCAB, (8, LENGTH))
model, second = Model(), Second()
parameters = list(model.parameters()) + list(second.parameters())
optimizer = torch.optim.Adam(parameters, lr=1e-3)
truth = Truth()
truth.watch(model)
truth.watch(second, "Second#2")
for _ in range(3):
    step(truth, model, optimizer, ids, ids)
step(truth, second, optimizer, ids)
replace(truth, model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(3):
    step(truth, model, optimizer, ids, ids)
truth.tell()
