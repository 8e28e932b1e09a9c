"""A decoder as small GPTs are written: blocks in a ModuleList, weights of the embedding shared with
the head, AdamW, and gradients of some micro-batches added up in each step.

    tidemark record -- python3 nanogpt.py --accumulation 4
    tidemark peak
"""
import os

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from switches import DEVICE, autocast, in_place, parse


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = [part.view(batch, length, self.heads, -1).transpose(1, 2)
                 for part in self.inputs(x).split(width, dim=2)]
        mixed = functional.scaled_dot_product_attention(*parts, is_causal=True)
        return self.output(mixed.transpose(1, 2).contiguous().view(batch, length, width))


class Feed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm_2, self.feed = nn.LayerNorm(width), Feed(width)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.feed(self.norm_2(x))


class Decoder(nn.Module):
    def __init__(self, options):
        super().__init__()
        width = options.width
        self.checkpoint, self.checkpoint_half = options.checkpoint, options.checkpoint_half
        self.chunked_loss = options.chunked_loss
        self.tokens = nn.Embedding(options.words, width)
        self.places = nn.Embedding(options.length, width)
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(options.layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, options.words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, given, wanted):
        x = self.tokens(given) + self.places(torch.arange(given.shape[1], device=given.device))
        for place, block in enumerate(self.blocks):
            again = self.checkpoint or (self.checkpoint_half and place % 2 == 0)
            x = checkpoint(block, x, use_reentrant=False) if again else block(x)
        if self.chunked_loss:
            return None, self.loss_in_chunks(self.norm(x).flatten(0, 1), wanted.view(-1))
        logits = self.head(self.norm(x))
        loss = functional.cross_entropy(logits.view(-1, logits.shape[-1]), wanted.view(-1))
        return logits, loss

    def loss_in_chunks(self, hidden, wanted):
        def loss_of(rows, answers):
            return functional.cross_entropy(self.head(rows), answers, reduction="sum")
        return sum(checkpoint(loss_of, *part, use_reentrant=False)
                   for part in zip(hidden.chunk(8), wanted.chunk(8))) / len(wanted)


def main():
    options = parse(["checkpoint", "drop_held", "fused_optimizer", "half_batch", "no_states",
                     "checkpoint_half", "chunked_loss", "cublas_workspace",
                     "together", "half_precision", "autocast"],
                    accumulation=1, steps=4, batch=8, length=64, width=128, layers=4, words=1000)
    if options.together:
        options.checkpoint = options.drop_held = options.fused_optimizer = True
        options.cublas_workspace = options.chunked_loss = options.half_batch = True
    if options.cublas_workspace:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":0:0"  # read at the first product on a GPU
    if options.half_batch:
        options.batch, options.accumulation = options.batch // 2, options.accumulation * 2
    torch.manual_seed(0)
    model = in_place(options, Decoder(options))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=options.fused_optimizer)
    if options.no_states:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(options.steps):
        for _ in range(options.accumulation):
            text = torch.randint(0, options.words, (options.batch, options.length + 1),
                                 device=DEVICE)
            with autocast(options):
                logits, loss = model(text[:, :-1], text[:, 1:].contiguous())
            if options.drop_held:
                del logits
            (loss / options.accumulation).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(step, float(loss))


main()
