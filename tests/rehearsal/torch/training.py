"""A mask that the program brought, through the kernels of a training step, and memory that kernels
write in place: what is read afterwards is right, or nothing. Run inside of `tidemark rehearse`."""
import sys

import torch
from torch import nn


def full():
    return torch.full((8,), 5, dtype=torch.long, device="cuda")


def written(function):
    it = full()
    function(it)
    return it.tolist()


def main():
    one, seven = (torch.tensor([number]).cuda() for number in (1, 7))
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]]).cuda()
    words, norm = nn.Embedding(10, 8).cuda(), nn.LayerNorm(8).cuda()
    optimizer = torch.optim.AdamW(list(words.parameters()) + list(norm.parameters()))
    sums = []
    for _ in range(3):
        hidden = norm(words(mask)) + torch.randn(2, 4, 8, device="cuda")
        sums.append(mask.sum().item())
        pooled = (hidden * mask.unsqueeze(-1).float()).sum(1)
        sums.append(hidden[mask.bool()].shape[0])
        bias = (1 - mask[:, None].float()) * -1e9
        hidden = torch.softmax(hidden @ hidden.transpose(1, 2) + bias, -1) @ hidden
        sums.append(mask.nonzero().shape[0])
        loss = nn.functional.cross_entropy(hidden.view(-1, 8), mask.view(-1), ignore_index=0)
        (loss + pooled.sum()).backward()
        nn.utils.clip_grad_norm_(words.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        sums.append(mask.sum().item())
    in_place = {
        "scatter_": (lambda it: it.scatter_(0, one, 7), [5, 7] + [5] * 6),
        "index_add_": (lambda it: it.index_add_(0, one, seven), [5, 12] + [5] * 6),
        "index_put_": (lambda it: it.index_put_((one,), seven), [5, 7] + [5] * 6),
        "random_": (lambda it: it.random_(6, 7), None),
        "cat": (lambda it: torch.cat([torch.arange(4, device="cuda")] * 2, out=it), [0, 1, 2, 3] * 2),
        "cumprod": (lambda it: torch.cumprod(it, 0, out=it), None),
    }
    read = {name: (written(function), right) for name, (function, right) in in_place.items()}
    stale = [name for name, (values, right) in read.items() if any(values) and values != right]
    print("read of the mask: %s; stale: %s" % (sums, stale))
    return 0 if set(sums) == {5} and not stale else 1


if __name__ == "__main__":
    sys.exit(main())
