"""A small classifier in training, written as its author would write it: it knows nothing of Tidemark.

    python3 train.py [cuda]
"""
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
torch.manual_seed(0)
torch.set_num_threads(2)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(),
            torch.nn.Conv2d(32, 64, 3, stride=2, padding=1), torch.nn.ReLU())
        self.head = torch.nn.Linear(64 * 16 * 16, 10)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


images = TensorDataset(torch.randn(192, 3, 32, 32), torch.randint(0, 10, (192,)))
net = Net().to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
history = []
for epoch in range(2):
    for x, y in DataLoader(images, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        history.append(float(loss.detach()))
print("loss", "%.3f" % history[0], "to", "%.3f" % history[-1])
