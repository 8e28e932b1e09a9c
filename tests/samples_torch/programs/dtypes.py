"""A small model in some dtypes; see test_dtypes.py. The argument says what is not in float32."""
import contextlib
import sys

import torch
from torch import nn


def half():
    return torch.autocast("cpu", dtype=torch.bfloat16)


class Model(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.trained = nn.Linear(8, 8)

    def forward(self, x):
        with half() if self.how == "inside" else contextlib.nullcontext():
            x = self.frozen(x.to(self.frozen.weight.dtype))
            return self.trained(x.to(self.trained.weight.dtype)).relu()


def main():
    how = sys.argv[1]
    model = Model(how)
    if how == "half":
        model.to(torch.bfloat16)
    if how == "frozen":
        model.frozen.to(torch.bfloat16)
    optimizer = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], 0.01)
    given = torch.randn(4, 8)
    for _ in range(6):
        with half() if how == "around" else contextlib.nullcontext():
            loss = model(given).float().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
