"""Activations that are computed again: both kinds of torch.utils.checkpoint.

    checkpointed.py reentrant|not
"""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

STEPS, BATCH, LENGTH, WIDTH, LAYERS = 4, 8, 64, 256, 4


class Stack(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.first = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True, norm_first=True)
            for _ in range(LAYERS))

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.reentrant)
        return x


def main():
    torch.manual_seed(1)
    model = Stack(sys.argv[1] == "reentrant").cuda()
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    for step in range(STEPS):
        x = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
