"""Two threads train a model each; the second begins its forward inside of the first one's, and so
on: whatever the first does, the second is in the middle of something. A third thread evaluates.
Then the same one after the other."""
import os
import sys
import threading

sys.path.insert(0, os.environ["TIDEMARK_TEST_PROGRAMS"])

import torch
from torch import nn

from common import Cases

case = Cases()
STEPS = 4


class Meeting(nn.Module):
    """Both threads are in it at once."""

    def __init__(self, meet, width):
        super().__init__()
        self.meet, self.layer = meet, nn.Linear(width, width)

    def forward(self, x):
        self.meet()
        return Late.apply(self.layer(x), self.meet)


class Late(torch.autograd.Function):
    """Both threads are in its backward at once."""

    @staticmethod
    def forward(ctx, x, meet):
        ctx.meet = meet
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.meet()
        return gradient * 1, None


def train(meet, width, results):
    torch.set_num_threads(1)
    net = Meeting(meet, width)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(net(torch.ones(4, width)), torch.zeros(4, width))
        loss.backward()
        optimizer.step()
    results[width] = [loss.detach()] + [p.detach() for p in net.parameters()]


def in_threads(works):
    threads = [threading.Thread(target=work, args=arguments) for work, *arguments in works]
    for thread in threads:
        thread.start()
    return threads


def nobody():
    pass


@case
def beside():
    """The widths are those of the first and of the second."""
    results, barrier = {}, threading.Barrier(2)
    torch.manual_seed(1)
    second = in_threads([(train, barrier.wait, 48, results)])
    train(barrier.wait, 32, results)
    second[0].join()
    return [torch.zeros(1)]


@case
def after():
    results = {}
    for width in (16, 24):
        torch.manual_seed(1)
        in_threads([(train, nobody, width, results)])[0].join()
    return results[16] + results[24]


if __name__ == "__main__":
    case.run()
