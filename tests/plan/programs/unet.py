"""A UNet as for segmentation or denoising, on images of 256 x 256: unet.py BATCH. It never ends by
itself."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

BATCH, SIZE, WIDTHS = int(sys.argv[1]), 256, (64, 128, 256, 512)


def twice(inputs, outputs):
    layers = []
    for width in (inputs, outputs):
        layers += [nn.Conv2d(width, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(twice(a, b) for a, b in zip((3,) + WIDTHS, WIDTHS))
        self.bottom = twice(WIDTHS[-1], WIDTHS[-1])
        ups = list(reversed(WIDTHS))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2)
                                  for a, b in zip([WIDTHS[-1]] + ups, ups))
        self.up = nn.ModuleList(twice(2 * width, width) for width in ups)
        self.last = nn.Conv2d(WIDTHS[0], 3, 1)

    def forward(self, x):
        kept = []
        for layer in self.down:
            x = layer(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for grow, layer in zip(self.grow, self.up):
            x = layer(torch.cat([grow(x), kept.pop()], 1))
        return self.last(x)


def main():
    with torch.device("cuda"):
        model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    while True:
        images = torch.randn(BATCH, 3, SIZE, SIZE, device="cuda")
        loss = F.mse_loss(model(images), images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
