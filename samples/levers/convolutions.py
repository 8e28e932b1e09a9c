"""Convolutions with batch normalization, trained by SGD with momentum; zero_grad between forward and
backward.

    tidemark record -- python3 convolutions.py
    tidemark peak
"""
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from switches import DEVICE, autocast, in_place, kind, parse, step_in_backward


class Residual(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.first, self.norm_1 = nn.Conv2d(wide, wide, 3, padding=1), nn.BatchNorm2d(wide)
        self.second, self.norm_2 = nn.Conv2d(wide, wide, 3, padding=1), nn.BatchNorm2d(wide)

    def forward(self, x):
        inner = functional.relu(self.norm_1(self.first(x)))
        return functional.relu(x + self.norm_2(self.second(inner)))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.checkpoint = options.checkpoint
        self.first = nn.Conv2d(3, 64, 3, padding=1)
        self.blocks = nn.ModuleList([Residual(64) for _ in range(4)])
        self.last = nn.Linear(64 * 64, 512)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoint else block(x)
        return self.last(functional.adaptive_avg_pool2d(x, 8).flatten(1))


def main():
    options = parse(["checkpoint", "half_batch", "zero_grad_earlier", "optimizer_in_backward",
                     "no_states", "half_precision", "autocast"], steps=3, batch=8, size=32)
    torch.manual_seed(0)
    model = in_place(options, Model(options))
    momentum = 0 if options.no_states else 0.9
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=momentum)
    if options.optimizer_in_backward:
        step_in_backward(model, lambda weights: torch.optim.SGD(weights, 0.01, momentum=momentum))
    parts = 2 if options.half_batch else 1
    for step in range(options.steps):
        for part in range(parts):
            image = torch.randn(options.batch // parts, 3, options.size, options.size,
                                dtype=kind(options), device=DEVICE)
            wanted = torch.randint(0, 512, (options.batch // parts,), device=DEVICE)
            with autocast(options):
                loss = functional.cross_entropy(model(image), wanted) / parts
            if part == 0:
                optimizer.zero_grad()
            loss.backward()
        if not options.optimizer_in_backward:
            optimizer.step()
        if options.zero_grad_earlier:
            optimizer.zero_grad()
        print(step, float(loss))


main()
