"""A model with a frozen part, and two copies of it that nobody calls: by deepcopy, and as a list of
clones. With COPIES_NONE in the environment there are none. Data that nobody tags are there, too."""
import copy
import os

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(64, 128).requires_grad_(False)
        self.norm, self.last = nn.BatchNorm1d(128), nn.Linear(128, 10)

    def forward(self, x):
        return self.last(self.norm(self.base(x)))


net = Net()
if not os.environ.get("COPIES_NONE"):
    average = copy.deepcopy(net)
    clones = [parameter.detach().clone() for parameter in net.parameters()]
data = torch.zeros(1000, 3)
targets = [torch.zeros(10) for i in range(8)]  # as large as the last bias
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for i in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(torch.ones(4, 64)), targets[i].expand(4, 10)).backward()
    optimizer.step()
