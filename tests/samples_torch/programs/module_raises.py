"""A backward in a backward ends by an exception; what the outer one asks for next is the outer one's."""
import torch
from torch import nn

SIZE = 7777


class Inner(nn.Module):
    def forward(self, x):
        return x.exp()


class Catches(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            y = inner(torch.ones(5, requires_grad=True))
            y.register_hook(fail)
            total = y.sum()
        try:
            total.backward()
        except ArithmeticError:
            print("caught")
        return torch.cat([grad, grad])[:SIZE] * 2


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(SIZE))

    def forward(self):
        return Catches.apply(self.weight * 1).sum()


def fail(grad):
    raise ArithmeticError("as it is meant to be")


inner, outer = Inner(), Outer()
for _ in range(3):
    inner(torch.ones(5))
    outer().backward()
