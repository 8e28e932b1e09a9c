"""One step, and what the program can see of us."""
import sys

import torch


def train():
    net = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(40):
        optimizer.zero_grad()
        net(torch.ones(3, 4)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    train()
    other = sys.modules.get("sitecustomize")
    print("other", getattr(other, "SAID", None))
    print("loader", type(torch.__loader__).__name__, sorted(vars(torch.__loader__)))
    print("finders", [finder for finder in sys.meta_path if type(finder).__name__ == "Finder"])
