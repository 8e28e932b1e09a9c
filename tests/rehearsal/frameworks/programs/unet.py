"""A UNet that learns to remove noise, with attention at the bottom, group norms, channels_last and
an average of its weights.

    unet.py [--diffusers]        theirs instead of ours
"""
import copy
import sys

import torch
from torch import nn
from torch.nn import functional as F

STEPS, BATCH, SIZE, WIDTH = 5, 4, 32, 32


class Res(nn.Module):
    def __init__(self, into, out, time):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, into), nn.GroupNorm(8, out)
        self.conv1 = nn.Conv2d(into, out, 3, padding=1)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1)
        self.time = nn.Linear(time, out)
        self.skip = nn.Conv2d(into, out, 1) if into != out else nn.Identity()

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
        return self.conv2(F.silu(self.norm2(y))) + self.skip(x)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        time = 4 * WIDTH
        self.time = nn.Sequential(nn.Linear(WIDTH, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.down1, self.down2 = Res(WIDTH, WIDTH, time), Res(WIDTH, 2 * WIDTH, time)
        self.shrink = nn.Conv2d(2 * WIDTH, 2 * WIDTH, 3, stride=2, padding=1)
        self.middle = Res(2 * WIDTH, 2 * WIDTH, time)
        self.attention = nn.MultiheadAttention(2 * WIDTH, 4, batch_first=True)
        self.grow = nn.ConvTranspose2d(2 * WIDTH, 2 * WIDTH, 2, stride=2)
        self.up2, self.up1 = Res(4 * WIDTH, WIDTH, time), Res(2 * WIDTH, WIDTH, time)
        self.last = nn.Conv2d(WIDTH, 3, 1)

    def forward(self, x, t):
        frequencies = torch.exp(-torch.arange(WIDTH // 2, device=x.device) / 4)
        angles = t[:, None] * frequencies
        t = self.time(torch.cat([angles.sin(), angles.cos()], dim=1))
        first = self.down1(self.first(x), t)
        second = self.down2(first, t)
        bottom = self.middle(self.shrink(second), t)
        rows = bottom.flatten(2).transpose(1, 2)
        bottom = bottom + self.attention(rows, rows, rows)[0].transpose(1, 2).view_as(bottom)
        up = self.up2(torch.cat([self.grow(bottom), second], dim=1), t)
        return self.last(self.up1(torch.cat([up, first], dim=1), t))


class Theirs(nn.Module):
    def __init__(self):
        super().__init__()
        import diffusers
        self.net = diffusers.UNet2DModel(
            sample_size=SIZE, in_channels=3, out_channels=3, layers_per_block=1,
            block_out_channels=(WIDTH, 2 * WIDTH), norm_num_groups=8,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"))

    def forward(self, x, t):
        return self.net(x, t).sample


def main():
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    model = (Theirs() if "--diffusers" in sys.argv else Unet()).cuda()
    model = model.to(memory_format=torch.channels_last)
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    images = torch.randn(BATCH, 3, SIZE, SIZE).cuda().contiguous(memory_format=torch.channels_last)
    for step in range(STEPS):
        noise = torch.randn_like(images)
        t = torch.randint(0, 1000, (BATCH,), device="cuda").float()
        mixed = images * (1 - t / 1000)[:, None, None, None] + noise * (t / 1000)[:, None, None, None]
        loss = F.mse_loss(model(mixed, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, now in zip(average.parameters(), model.parameters()):
                kept.lerp_(now, 0.01)
        print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
