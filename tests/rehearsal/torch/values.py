"""Small whole numbers in a rehearsal, by PyTorch: each of these is computed on a device that is not
there and on the host, and has to be the same. Run inside of `tidemark rehearse`."""
import sys

import torch
import torch.nn.functional as F


def arange(*bounds, **options):
    return lambda x, n, b: torch.arange(*bounds, device=x.device, **options)


def changed(x, n, b):
    x[:, 1] = 5
    n[0] = 9
    return x.sum() + n.sum()


def in_place(x, n, b):
    n.add_(1).mul_(3)
    return n


COMPUTED = {
    "copy": lambda x, n, b: x,
    "==": lambda x, n, b: x == 1,
    "!=": lambda x, n, b: x != 1,
    "== of tensors": lambda x, n, b: x == n[1],
    ">=": lambda x, n, b: n >= 3,
    "<": lambda x, n, b: torch.arange(5, device=x.device)[None] < n[:, None],
    "all": lambda x, n, b: (x == 1).all().item(),
    "all of longs": lambda x, n, b: torch.all(x).item(),
    "all, rows": lambda x, n, b: b.all(-1),
    "any, columns": lambda x, n, b: b.any(0),
    "sum": lambda x, n, b: x.sum().item(),
    "sum, rows": lambda x, n, b: x.sum(-1),
    "sum, columns": lambda x, n, b: x.sum(0),
    "sum of a mask": lambda x, n, b: b.sum(1),
    "max": lambda x, n, b: n.max().item(),
    "min": lambda x, n, b: n.min().item(),
    "max, rows": lambda x, n, b: x.max(-1)[0],
    "argmax, rows": lambda x, n, b: x.argmax(-1),
    "argmin": lambda x, n, b: x.argmin(),
    "aminmax": lambda x, n, b: [int(one) for one in torch.aminmax(n)],
    "+ number": lambda x, n, b: n + 1,
    "+ tensor": lambda x, n, b: torch.add(n, n, alpha=3),
    "number -": lambda x, n, b: 7 - n,
    "*": lambda x, n, b: n * n,
    "* mask": lambda x, n, b: x * (x == 1),
    "//": lambda x, n, b: (n - 4) // 2,
    "%": lambda x, n, b: (n - 4) % 2,
    ">>": lambda x, n, b: n >> 1,
    "<<": lambda x, n, b: n << 2,
    "negative": lambda x, n, b: -n,
    "~": lambda x, n, b: ~b,
    "~ of longs": lambda x, n, b: ~n,
    "not": lambda x, n, b: torch.logical_not(n),
    "&": lambda x, n, b: b & (b == False),  # noqa: E712
    "|": lambda x, n, b: b | ~b,
    "and": lambda x, n, b: torch.logical_and(b, ~b),
    "clamp": lambda x, n, b: n.clamp(3, 4),
    "clamp, below": lambda x, n, b: n.clamp(min=3),
    "clamp, above": lambda x, n, b: n.clamp(max=3),
    "maximum": lambda x, n, b: torch.maximum(n, torch.full_like(n, 3)),
    "masked_fill": lambda x, n, b: x.masked_fill(x == 0, -100),
    "where": lambda x, n, b: torch.where(x == 1, x, x - 7),
    "to long": lambda x, n, b: b.long(),
    "to int": lambda x, n, b: n.int(),
    "to bool": lambda x, n, b: n.bool(),
    "full": lambda x, n, b: torch.full((3,), 7, device=x.device),
    "ones": lambda x, n, b: torch.ones(3, dtype=torch.bool, device=x.device),
    "zeros": lambda x, n, b: torch.zeros(3, dtype=torch.long, device=x.device),
    "arange": arange(2, 50, 3),
    "arange of ints": arange(2, 50, 3, dtype=torch.int32),
    "transposed": lambda x, n, b: x.t().contiguous(),
    "slice": lambda x, n, b: x[:, 1:].contiguous(),
    "expanded": lambda x, n, b: n[:, None].expand(3, 2).contiguous(),
    "pad": lambda x, n, b: F.pad(x, (1, 1)),
    "assigned": changed,
    "in place": in_place,
    "cumsum": lambda x, n, b: n.cumsum(0),
    "cumsum, rows": lambda x, n, b: x.cumsum(-1),
    "difference": lambda x, n, b: torch.diff(n),
    "split": lambda x, n, b: [part.tolist() for part in n.split([1, 2])],
    "equal": lambda x, n, b: torch.equal(x, x.clone()),
    "not equal": lambda x, n, b: torch.equal(x, x + 1),
    "item": lambda x, n, b: n[1].item(),
    # floats that came of whole numbers
    "a mask's sum as float": lambda x, n, b: (x == 1).float().sum().item(),
    "a mask's rows as float": lambda x, n, b: x.float().sum(1),
    "mean of two rows": lambda x, n, b: x.float().mean(0),
    "longest as float": lambda x, n, b: n.float().max().item(),
    "there and back": lambda x, n, b: n.float().long(),
    "as double": lambda x, n, b: n.double().sum().item(),
    "half, up": lambda x, n, b: (n.float() * 0.5).ceil().int(),
    "half, down": lambda x, n, b: torch.floor(n / 2).long(),
    "1 - mask": lambda x, n, b: (1.0 - x.float()).sum().item(),
    "a share of the longest": lambda x, n, b: torch.round(n.float() / 5 * 20).int(),
    "more than": lambda x, n, b: (n.float() > 2.5).sum().item(),
    "absolute": lambda x, n, b: (n - 4).abs(),
    # sizes
    "nonzero": lambda x, n, b: x.nonzero().shape,
    "nonzero of many": lambda x, n, b:
        (torch.arange(100000, device=x.device) > 77).nonzero().shape,
    "index by a mask": lambda x, n, b: x[x == 1].shape,
    "masked_select": lambda x, n, b: torch.masked_select(x, x == 0).shape,
    "repeat_interleave": lambda x, n, b: torch.repeat_interleave(n, n).shape,
    "one_hot": lambda x, n, b: F.one_hot(n).shape,
    "bincount": lambda x, n, b: torch.bincount(n).shape,
    "a size of lengths": lambda x, n, b: torch.zeros(2, int(n.max()), device=x.device).shape,
}

# What is not computed reads as zeros, and never as what was there before.
ZEROS = {
    "a sum of floats": lambda x, n, b: torch.rand(5).to(x.device).sum().item(),
    "a sum that has to be rounded": lambda x, n, b: (n.float() / 3).sum().item(),
    "what a product was added to": lambda x, n, b: torch.addmm(
        x.float(), torch.ones(2, 3, device=x.device), torch.ones(3, 4, device=x.device)).sum().item(),
    "what a product was added to, in place": lambda x, n, b: x.float().addmm_(
        torch.ones(2, 3, device=x.device), torch.ones(3, 4, device=x.device)).sum().item(),
    "what a random number was added to": lambda x, n, b: x.float().add_(
        torch.rand(2, 4, device=x.device)).sum().item(),
    "dropout of a mask": lambda x, n, b: F.dropout(x.float(), 0.5).sum().item(),
    "softmax of a mask": lambda x, n, b: x.float().softmax(-1).sum().item(),
    "random": lambda x, n, b: n.random_(5, 6).sum().item(),
    "random, in place": lambda x, n, b: torch.full_like(n, 9).random_(5, 6).sum().item(),
    "memory used again": lambda x, n, b: [int(torch.full((1000,), 5, device=x.device).max()),
                                          torch.empty(1000, dtype=torch.long,
                                                      device=x.device).sum().item()][1],
}


def tensors(device):
    return (torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]]).to(device),
            torch.tensor([3, 5, 2]).to(device),
            torch.tensor([[True, False, True], [True, True, True]]).to(device))


def plain(value):
    return value.tolist() if torch.is_tensor(value) else value


def main():
    wrong = 0
    for name, function in COMPUTED.items():
        want, got = plain(function(*tensors("cpu"))), plain(function(*tensors("cuda")))
        if got != want:
            print("%s: %r instead of %r" % (name, got, want))
            wrong += 1
    for name, function in ZEROS.items():
        got = function(*tensors("cuda"))
        if got != 0:
            print("%s: %r instead of zeros" % (name, got))
            wrong += 1
    print("%d of %d are wrong" % (wrong, len(COMPUTED) + len(ZEROS)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
