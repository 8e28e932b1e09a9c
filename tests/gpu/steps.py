"""Training steps of a small transformer, timed: prints the median of a step in milliseconds. On a GPU
each step is waited for."""
import argparse
import statistics
import time

import torch
from torch import nn

WARM_UP = 10
SIZES = {"cuda": dict(width=512, layers=6, batch=32, length=128),
         "cpu": dict(width=32, layers=2, batch=4, length=16)}


def train(device, steps, width, layers, batch, length):
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
    model = nn.TransformerEncoder(layer, layers).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    given = torch.randn(batch, length, width, device=device)
    times = []
    for _ in range(WARM_UP + steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = model(given).square().mean()
        loss.backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[WARM_UP:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=sorted(SIZES))
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    median = train(options.device, options.steps, **SIZES[options.device])
    print("step %.6f ms" % (1000 * median))


if __name__ == "__main__":
    main()
