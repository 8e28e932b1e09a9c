"""A UNet that learns to take noise away, with a moving average of its weights.

    tidemark record -- python3 unet.py
    tidemark peak
"""
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from switches import DEVICE, autocast, in_place, kind, parse


class Residual(nn.Module):
    def __init__(self, given, made):
        super().__init__()
        self.norm_1, self.first = nn.GroupNorm(8, given), nn.Conv2d(given, made, 3, padding=1)
        self.norm_2, self.second = nn.GroupNorm(8, made), nn.Conv2d(made, made, 3, padding=1)
        self.skip = nn.Conv2d(given, made, 1) if given != made else nn.Identity()
        self.time = nn.Linear(64, made)

    def forward(self, x, time):
        inner = self.first(functional.silu(self.norm_1(x))) + self.time(time)[:, :, None, None]
        return self.second(functional.silu(self.norm_2(inner))) + self.skip(x)


class UNet(nn.Module):
    def __init__(self, options, wide=32):
        super().__init__()
        self.checkpoint = options.checkpoint
        self.first = nn.Conv2d(3, wide, 3, padding=1)
        self.down = nn.ModuleList([Residual(wide, wide), Residual(wide, 2 * wide),
                                   Residual(2 * wide, 4 * wide)])
        self.middle = Residual(4 * wide, 4 * wide)
        self.up = nn.ModuleList([Residual(8 * wide, 2 * wide), Residual(4 * wide, wide),
                                 Residual(2 * wide, wide)])
        self.last = nn.Conv2d(wide, 3, 3, padding=1)

    def call(self, module, x, time):
        return checkpoint(module, x, time, use_reentrant=False) if self.checkpoint else module(x, time)

    def forward(self, x, time):
        x = self.first(x)
        skipped = []
        for module in self.down:
            x = self.call(module, x, time)
            skipped.append(x)
            x = functional.avg_pool2d(x, 2)
        x = self.call(self.middle, x, time)
        for module in self.up:
            x = functional.interpolate(x, scale_factor=2)
            x = self.call(module, torch.cat([x, skipped.pop()], 1), time)
        return self.last(x)


def main():
    options = parse(["checkpoint", "fused_optimizer", "half_precision", "autocast"],
                    steps=3, batch=2, size=32)
    torch.manual_seed(0)
    model = in_place(options, UNet(options))
    average = [weight.detach().clone() for weight in model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=options.fused_optimizer)
    for step in range(options.steps):
        image = torch.randn(options.batch, 3, options.size, options.size, dtype=kind(options),
                            device=DEVICE)
        noise, part = torch.randn_like(image), torch.rand(options.batch, 1, 1, 1).to(image)
        mixed = part.sqrt() * image + (1 - part).sqrt() * noise
        time = torch.randn(options.batch, 64, dtype=kind(options), device=DEVICE)
        with autocast(options):
            loss = functional.mse_loss(model(mixed, time), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        for kept, weight in zip(average, model.parameters()):
            kept.lerp_(weight.detach(), 0.01)
        print(step, float(loss))


main()
