"""A small training loop for the soak: one thread, some twenty steps a second, until it is killed or
the ledger says stop.

    train.py LEDGER MS
"""
import struct
import sys
import time
import warnings

warnings.simplefilter("ignore")
import torch  # noqa: E402


def stopped(path):
    with open(path, "rb") as ledger:
        return struct.unpack("<Q", ledger.read(16)[8:])[0] != 0


def main():
    ledger, until = sys.argv[1], time.monotonic() + int(sys.argv[2]) / 1000.0
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    optimizer = torch.optim.Adam(model.parameters())
    while time.monotonic() < until and not stopped(ledger):
        inputs, targets = torch.randn(32, 64), torch.randint(0, 8, (32,))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        time.sleep(0.05)


main()
