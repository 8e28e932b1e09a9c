"""A training that is hard on an allocator: blocks of many sizes, a second stream that uses what the
first one made, memory given back while it is still in use there, and a cache emptied once.

    two_streams.py [--device cuda] [--steps N] [--snapshot FILE]

--snapshot lets PyTorch keep its history, and writes it; otherwise the program knows of nobody. Meant
to be run with PYTORCH_CUDA_ALLOC_CONF as it may be.
"""
import argparse

import torch
from torch import nn


def side_work(values, stream):
    """Something of another size on the other stream, with blocks that are freed before it is done."""
    total = None
    with torch.cuda.stream(stream):
        for value in values:
            value.record_stream(stream)
            product = value @ value.t()
            total = product.sum() if total is None else total + product.sum()
    return total


def step(model, optimizer, width, number, stream, device):
    rows = 64 + 37 * (number % 7)
    given = torch.randn(rows, width, device=device)
    optimizer.zero_grad(set_to_none=number % 3 != 0)
    found = model(given)
    extra = None
    if stream is not None:
        stream.wait_stream(torch.cuda.current_stream())
        extra = side_work([given, found.detach()], stream)
    loss = found.square().mean()
    loss.backward()
    del given, found
    optimizer.step()
    if stream is not None:
        torch.cuda.current_stream().wait_stream(stream)
    if extra is not None:
        loss = loss.detach() + 0 * extra
    return float(loss)


def train(options):
    torch.manual_seed(1)
    device = torch.device(options.device)
    layers = [nn.Linear(options.width, options.width) for _ in range(6)]
    model = nn.Sequential(*[part for layer in layers for part in (layer, nn.GELU())]).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    stream = torch.cuda.Stream() if device.type == "cuda" else None
    for number in range(options.steps):
        loss = step(model, optimizer, options.width, number, stream, device)
        if number == options.steps // 2 and device.type == "cuda":
            torch.cuda.empty_cache()
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--width", type=int, default=700)
    parser.add_argument("--snapshot")
    options = parser.parse_args()
    if options.snapshot and options.device == "cuda":
        torch.cuda.memory._record_memory_history(max_entries=1000000, stacks="python")
    print("loss %.9f" % train(options))
    if options.snapshot and options.device == "cuda":
        torch.cuda.memory._dump_snapshot(options.snapshot)


if __name__ == "__main__":
    main()
