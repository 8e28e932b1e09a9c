"""What public programs do with lengths, masks, token ids and edges: each of these is computed on a device
that is not there and on the host, and has to be the same. Run inside of `tidemark rehearse`."""
import sys

import torch
import torch.nn.functional as F

COMPUTED = {
    "cat with an empty one": lambda x, n, b: torch.cat([n, n.new_zeros(0)]),
    "cat": lambda x, n, b: torch.cat([n, n+1]),
    "cat dim1": lambda x, n, b: torch.cat([x, x*2], 1),
    "cat uneven": lambda x, n, b: torch.cat([n, n[:2], x.view(-1)]),
    "cat many": lambda x, n, b: torch.cat([n+i for i in range(20)]),
    "stack": lambda x, n, b: torch.stack([n, n*2]),
    "stack1": lambda x, n, b: torch.stack([n, n*2], 1),
    "cat bool": lambda x, n, b: torch.cat([b, ~b]),
    "cat int32": lambda x, n, b: torch.cat([n.int(), n.int()*2]),
    "index by ints": lambda x, n, b: n[torch.tensor([2, 0, 0], device=n.device)],
    "index rows": lambda x, n, b: x[torch.tensor([1, 0, 1], device=n.device)],
    "index two": lambda x, n, b:
        x[torch.tensor([1, 0], device=n.device), torch.tensor([2, 3], device=n.device)],
    "x[mask]": lambda x, n, b: x[x==1],
    "x[mask] vals": lambda x, n, b: n[n>2],
    "gather": lambda x, n, b: x.gather(1, torch.tensor([[0, 3], [2, 1]], device=n.device)),
    "take_along": lambda x, n, b: torch.take_along_dim(x, x.argmax(1, keepdim=True), 1),
    "index_select": lambda x, n, b: x.index_select(1, torch.tensor([3, 0], device=n.device)),
    "embedding ints": lambda x, n, b: F.embedding(x, torch.arange(6, device=x.device).view(2, 3)) ,
    "scatter": lambda x, n, b: torch.zeros(6, dtype=torch.long, device=x.device).scatter_(0, n, 7),
    "scatter src": lambda x, n, b:
        torch.zeros(6, dtype=torch.long, device=x.device).scatter_(0, n, n*2),
    "scatter_add": lambda x, n, b:
        torch.zeros(6, dtype=torch.long, device=x.device).scatter_add_(0, n, torch.ones_like(n)),
    "index_put": lambda x, n, b:
        torch.zeros(6, dtype=torch.long, device=x.device).index_put_((n, ), n),
    "x[idx]=5": lambda x, n, b:
        (lambda z: [z.__setitem__(n, 5), z][1])(torch.zeros(6, dtype=torch.long, device=x.device)),
    "x[mask]=5": lambda x, n, b: (lambda z: [z.__setitem__(z>2, 5), z][1])(n.clone()),
    "sort": lambda x, n, b: n.sort()[0],
    "sort idx": lambda x, n, b: n.sort()[1],
    "sort desc": lambda x, n, b: n.sort(descending=True)[0],
    "sort rows": lambda x, n, b: x.sort(-1)[0],
    "argsort": lambda x, n, b: n.argsort(),
    "argsort stable": lambda x, n, b: x.view(-1).argsort(stable=True),
    "argsort big": lambda x, n, b: (torch.arange(5000, device=x.device)%7).argsort(stable=True),
    "topk": lambda x, n, b: n.topk(2)[0],
    "unique": lambda x, n, b: torch.unique(x),
    "unique inv": lambda x, n, b: list(torch.unique(x, return_inverse=True, return_counts=True)),
    "unique_consecutive": lambda x, n, b: torch.unique_consecutive(x.view(-1)),
    "unique_consecutive counts": lambda x, n, b:
        list(torch.unique_consecutive(x.view(-1), return_counts=True)),
    "nonzero": lambda x, n, b: x.nonzero(),
    "nonzero bool": lambda x, n, b: b.nonzero(),
    "nonzero flat": lambda x, n, b: torch.nonzero(x.flatten(), as_tuple=False).flatten(),
    "nonzero tuple": lambda x, n, b: list(torch.where(x==1)),
    "median": lambda x, n, b: n.median().item(),
    "masked_select": lambda x, n, b: torch.masked_select(x, x==1),
    "bincount": lambda x, n, b: torch.bincount(n),
    "bincount minlength": lambda x, n, b: torch.bincount(n, minlength=10),
    "cumsum int32": lambda x, n, b: n.cumsum(0, dtype=torch.int32),
    "cumsum of int32": lambda x, n, b: n.int().cumsum(0),
    "cumsum col": lambda x, n, b: x.cumsum(0),
    "cumsum bool": lambda x, n, b: b.cumsum(1),
    "cumsum mask 3d": lambda x, n, b: (x==1)[None].cumsum(1),
    "cu_seqlens": lambda x, n, b:
        F.pad(torch.cumsum(x.sum(-1, dtype=torch.int32), 0, dtype=torch.int32), (1, 0)),
    "get_unpad_data": lambda x, n, b:
        [torch.nonzero(x.flatten(), as_tuple=False).flatten(), F.pad(torch.cumsum(x.sum(-1, dtype=torch.int32), 0, dtype=torch.int32), (1, 0)), x.sum(-1, dtype=torch.int32).max().item()],
    "repeat_interleave": lambda x, n, b: torch.repeat_interleave(n, n),
    "repeat_interleave 1": lambda x, n, b: torch.repeat_interleave(n),
    "repeat": lambda x, n, b: n.repeat(2),
    "where": lambda x, n, b: torch.where(n>2, n, torch.zeros_like(n)),
    "where scalar": lambda x, n, b: torch.where(n>2, n, 0),
    "attention_mask.bool().all()": lambda x, n, b: x.bool().all().item(),
    "labels!=-100 idx": lambda x, n, b: x[x != 0].shape,
    "shifted labels": lambda x, n, b:
        (lambda l: [l, (l != -100).sum().item()])(F.pad(x[..., 1:], (0, 1), value=-100)),
    "pad_sequence": lambda x, n, b: torch.nn.utils.rnn.pad_sequence([n, n[:2]], batch_first=True),
    "flip": lambda x, n, b: n.flip(0),
    "roll": lambda x, n, b: n.roll(1),
    "tril": lambda x, n, b: torch.ones(3, 3, dtype=torch.long, device=x.device).tril(),
    "triu bool": lambda x, n, b: torch.ones(3, 3, dtype=torch.bool, device=x.device).triu(1),
    "eye": lambda x, n, b: torch.eye(3, dtype=torch.long, device=x.device),
    "isin": lambda x, n, b: torch.isin(n, torch.tensor([3, 2], device=n.device)),
    "searchsorted": lambda x, n, b: torch.searchsorted(torch.tensor([1, 3, 5], device=n.device), n),
    "bucketize": lambda x, n, b: torch.bucketize(n, torch.tensor([1, 3, 5], device=n.device)),
    "one_hot": lambda x, n, b: F.one_hot(n),
    "one_hot sum": lambda x, n, b: F.one_hot(n, 6).sum(0),
    "count_nonzero": lambda x, n, b: torch.count_nonzero(x).item(),
    "count_nonzero dim": lambda x, n, b: torch.count_nonzero(x, dim=1),
    "argwhere": lambda x, n, b: torch.argwhere(x),
    "index.max()+1": lambda x, n, b: int(n.max())+1,
    "pyg degree": lambda x, n, b:
        torch.zeros(int(n.max())+1, device=x.device, dtype=torch.long).scatter_add_(0, n, torch.ones(n.numel(), dtype=torch.long, device=x.device)),
    "pyg ptr": lambda x, n, b: torch.cat([n.new_zeros(1), n.cumsum(0)]),
    "pyg self loops": lambda x, n, b: x[:, x[0]!=x[1]],
    "pyg to_dense": lambda x, n, b:
        (lambda batch: (torch.zeros(4, device=x.device, dtype=torch.long).scatter_add_(0, batch, torch.ones_like(batch))).max().item())(torch.repeat_interleave(torch.arange(3, device=x.device), n)),
    "position_ids": lambda x, n, b: (x.long().cumsum(-1)-1).masked_fill_(x==0, 1),
    "roberta pos": lambda x, n, b:
        ((torch.cumsum(x.ne(0).int(), 1).type_as(x.ne(0).int()) + 0) * x.ne(0).int()).long() + 1,
    "eos argmax": lambda x, n, b: x.to(torch.int).argmax(-1),
    "clip eot": lambda x, n, b: x[torch.arange(2, device=x.device), x.int().argmax(-1)],
    "sequence_lengths": lambda x, n, b: torch.eq(x, 0).int().argmax(-1) - 1,
    "length mask": lambda x, n, b:
        torch.arange(int(n.max()), device=x.device).expand(3, int(n.max())) >= n.unsqueeze(1),
    "pack": lambda x, n, b: (lambda s: [s[0], s[1]])(torch.sort(n, descending=True)),
    "moe counts": lambda x, n, b: torch.bincount(x.view(-1), minlength=4).cumsum(0),
    "moe one_hot": lambda x, n, b:
        [F.one_hot(x, 3).permute(2, 1, 0).sum((1, 2)), torch.greater(F.one_hot(x, 3).sum(dim=(0, 1)), 0).nonzero().flatten()],
    "moe where": lambda x, n, b: list(torch.where(F.one_hot(x, 3).permute(2, 1, 0)[1])),
    "sum int32": lambda x, n, b: x.int().sum(1),
    "sum uint8": lambda x, n, b: x.to(torch.uint8).sum(1),
    "max int32": lambda x, n, b: n.int().max().item(),
    "any all": lambda x, n, b: [torch.any(x==0).item(), x.any().item()],
    "diff": lambda x, n, b: n.diff(),
    "tolist": lambda x, n, b: n.tolist(),
    "expand cat": lambda x, n, b: torch.cat([x, x.new_ones((2, 1))], dim=-1),
    "generation unfinished": lambda x, n, b:
        (lambda u: [u, u.max().item()==0])(torch.ones(2, dtype=torch.long, device=x.device).mul((x[:, -1]!=0).long())),
    "max of two": lambda x, n, b: torch.max(n, n.flip(0)),
    "broadcast cat": lambda x, n, b: torch.cartesian_prod(n, n),
    "meshgrid": lambda x, n, b: torch.stack(torch.meshgrid(n, n, indexing='ij')),
}

# What is not computed reads as zeros.
ZEROS = {
    "power": lambda x, n, b: (n ** 2).sum().item(),
    "product": lambda x, n, b: n.prod().item(),
    "share of the longest": lambda x, n, b: (n.float() / n.max()).sum().item(),
    "sum of halves": lambda x, n, b: n.half().sum().item(),
    "running maximum": lambda x, n, b: n.cummax(0)[0].sum().item(),
    "median of floats": lambda x, n, b: torch.rand(5, device=x.device).median().item(),
    "histogram of floats": lambda x, n, b: torch.histc(n.float(), 6, 0, 6).sum().item(),
    "topk of floats": lambda x, n, b: torch.rand(5, device=x.device).topk(2)[1].sum().item(),
    "sort of floats": lambda x, n, b: torch.rand(5, device=x.device).sort()[1].sum().item(),
}


def tensors(device):
    return (torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]]).to(device),
            torch.tensor([3, 5, 2]).to(device),
            torch.tensor([[True, False, True], [True, True, True]]).to(device))


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
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
