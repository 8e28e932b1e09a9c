"""Reads values that no rehearsal computes: for a size at two places, for a number at one, and a loss."""
import torch

x = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]]).cuda()
y = torch.nn.Linear(4, 4).cuda()(x.float())
assert x.nonzero().shape == (5, 2)  # this one is computed
assert y[y > 0].shape == (0,)
assert x.float().unique().shape == (0,)
for _ in range(3):
    assert y.sum().item() == 0.0
    assert int(y.argmax()) == 0
