"""A step of several losses and layers, which the argument names; see test_graphs.py."""
import sys

import torch
from torch import nn
from torch.nn import functional

ROWS, WIDTH, CLASSES = 6, 8, 10


class Softmax(torch.autograd.Function):
    """Of the program's own: its node is named like PyTorch's, and saves nothing under its names."""

    @staticmethod
    def forward(ctx, x):
        made = x.softmax(-1)
        ctx.save_for_backward(made)
        return made

    @staticmethod
    def backward(ctx, gradient):
        made, = ctx.saved_tensors
        return made * (gradient - (made * gradient).sum(-1, keepdim=True))


class Attention(nn.Module):
    """Of two heads, written out."""

    def __init__(self):
        super().__init__()
        self.given = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x, how):
        q, k, v = self.given(x).view(2, 5, 3, 2, WIDTH // 2).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * 0.5
        if "masked" in how:
            scores = scores.masked_fill(torch.ones(5, 5).triu(1) > 0, -1e9)
        weights = Softmax.apply(scores) if "own" in how else scores.softmax(-2 if "turned" in how else -1)
        return functional.dropout(weights, 0.5 if "dropped" in how else 0.0) @ v


def attention_of(how):
    return Attention()(torch.randn(2, 5, WIDTH), how).sum()


def letters_of(how):
    """What is made of a product, of a number, and of a vector of parameters."""
    x = nn.Linear(64, 64)(torch.randn(128, 64))
    x = torch.tanh(x) + 0.5 if "number" in how else torch.tanh(x)
    return (x * nn.Parameter(torch.ones(64))).sigmoid().sum()


def loss_of(how):
    one, other = nn.Linear(4, WIDTH), nn.Linear(4, WIDTH)
    head, given = nn.Linear(WIDTH, CLASSES), torch.randn(ROWS, 4)
    a = functional.normalize(one(given), dim=-1)
    b = functional.normalize(other(given), dim=-1)
    rows, classes = torch.arange(ROWS), torch.arange(ROWS)
    scale = torch.ones((), requires_grad=True)
    return {
        "classes": lambda: functional.cross_entropy(head(a), classes),
        "frozen": lambda: functional.cross_entropy(head(a.detach()), classes),
        "next": lambda: functional.cross_entropy(head(a)[:-1].float(), classes[:-1]),
        "each": lambda: functional.cross_entropy(head(a), classes, reduction="none").max(),
        "cosine": lambda: functional.cross_entropy(a @ functional.normalize(head.weight).t(), classes),
        "pixels": lambda: functional.cross_entropy(nn.Conv2d(1, 3, 1)(torch.randn(2, 1, 4, 4)),
                                                   torch.zeros(2, 4, 4).long()),
        "pairs": lambda: functional.cross_entropy(scale * a @ b.t(), rows),
        "distances": lambda: torch.cdist(a, b).sum(),
        "broadcast": lambda: functional.cosine_similarity(a[:, None], a[None], dim=-1).sum(),
        "sums": lambda: (a.t() @ b - torch.eye(WIDTH)).square().sum(),
        "gram": lambda: torch.bmm(a[None], a[None].transpose(1, 2)).square().sum(),
        "parameters": lambda: ((head.weight @ one.weight) @ (head.weight @ other.weight).t()).square().sum(),
        "triplets": lambda: functional.triplet_margin_loss(a, b, a),
    }[how]()


def main():
    how = sys.argv[1]
    made = {"attention": attention_of, "letters": letters_of}.get(how.split()[0], loss_of)
    made(how).backward()


main()
