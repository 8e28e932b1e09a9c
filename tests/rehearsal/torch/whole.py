"""Whole numbers that came of floats, read as such: each read is told, whatever its size; a loss is not."""
import torch

u = torch.rand(8, device="cuda")
assert int((u * 10).int().max()) == 0
assert (u > 0.5).view(2, 4).sum(1).tolist() == [0, 0]
assert (u > 0.5).view(2, 4).sum(1).cpu().sum() == 0
for _ in range(3):
    assert u.sum().item() == 0.0
    u.cpu()
