"""Whole numbers that lie beside what kernels write are not lost by it: right behind a block of floats
of each type, and through the steps of a training with a padding mask. Run inside of `tidemark
rehearse`."""
import sys

import torch
from torch import nn

LENGTHS = [3, 5, 2, 7]


def beside(dtype):
    """The floats fill their block; what comes next lies in the next one."""
    floats = torch.rand(2048, device="cuda", dtype=dtype)
    lengths = torch.tensor(LENGTHS).cuda()
    floats.sigmoid_()
    floats[1024:].tanh_()
    return lengths.tolist() == LENGTHS


def steps():
    """How many sizes and lengths were wrong."""
    layers = [nn.TransformerEncoderLayer(32, 2, 64, batch_first=True).cuda() for _ in range(2)]
    words = nn.Embedding(50, 32).cuda()
    optimizer = torch.optim.AdamW([p for part in [words] + layers for p in part.parameters()])
    wrong = 0
    for step in range(20):
        ids, lengths = torch.randint(1, 50, (4, 12 + step)).cuda(), torch.tensor(LENGTHS).cuda()
        padding = torch.arange(12 + step, device="cuda")[None] >= lengths[:, None]
        hidden = words(ids)
        for layer in layers:
            hidden = layer(hidden, src_key_padding_mask=padding)
        kept = hidden[~padding]
        kept.float().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        wrong += kept.shape[0] != sum(LENGTHS)
        wrong += lengths.tolist() != LENGTHS
    return wrong


def behind():
    """Of a view nothing stays that was overwritten, also where its first element is not known."""
    z = torch.arange(10).cuda()
    unknown = (torch.rand(3, device="cuda") * 9).long()
    z[3:4] = unknown[:1]
    z[3:].scatter_(0, unknown, 100)
    return any(z.tolist()[3:])


def main():
    kept = [beside(dtype) for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64)]
    wrong, stale = steps(), behind()
    print("kept beside floats: %s; wrong in 20 steps: %d; stale: %s" % (kept, wrong, stale))
    return 0 if all(kept) and wrong == 0 and not stale else 1


if __name__ == "__main__":
    sys.exit(main())
