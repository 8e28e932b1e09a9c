"""A GPT in the manner of many training scripts: bf16 autocast, gradient accumulation, clipping, a
learning rate that changes, batches out of a memory-mapped file by pinned memory, evaluation now and
then, a checkpoint of the model and the optimizer that is loaded again.

    gpt.py [--dtype bfloat16|float16|float32] [--compile]
"""
import argparse
import math
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, CONTEXT, BATCH, WIDTH, HEADS, LAYERS = 2048, 128, 8, 192, 6, 4
STEPS, ACCUMULATED, EVALUATED_EACH = 6, 2, 3


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def batch_of(path):
    data = np.memmap(path, dtype=np.uint16, mode="r")
    begins = torch.randint(len(data) - CONTEXT - 1, (BATCH,)).tolist()

    def stacked(shift):
        rows = [data[i + shift:i + shift + CONTEXT].astype(np.int64) for i in begins]
        return torch.from_numpy(np.stack(rows)).pin_memory().to("cuda", non_blocking=True)

    return stacked(0), stacked(1)


@torch.no_grad()
def evaluate(model, autocast, path):
    model.eval()
    losses = torch.zeros(3)
    for i in range(len(losses)):
        with autocast:
            losses[i] = model(*batch_of(path)).item()
    model.train()
    return losses.mean().item()


def optimizer_of(model):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                              {"params": others, "weight_decay": 0.0}], lr=6e-4, fused=True)


def train(options, path):
    dtype = getattr(torch, options.dtype)
    autocast = torch.autocast("cuda", dtype=dtype, enabled=dtype is not torch.float32)
    raw = model = Gpt().to("cuda")
    scaler = torch.amp.GradScaler("cuda", enabled=dtype is torch.float16)
    optimizer = optimizer_of(model)
    if options.compile:
        model = torch.compile(model)
    batch = batch_of(path)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = 6e-4 * 0.5 * (1 + math.cos(math.pi * step / STEPS))
        if step % EVALUATED_EACH == EVALUATED_EACH - 1:
            evaluate(model, autocast, path)
            torch.save({"model": raw.state_dict(), "optimizer": optimizer.state_dict()}, "gpt.pt")
        for _ in range(ACCUMULATED):
            with autocast:
                loss = model(*batch) / ACCUMULATED
            batch = batch_of(path)
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        print("step", step, "loss", loss.item() * ACCUMULATED)
    saved = torch.load("gpt.pt", map_location="cuda")
    raw.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--compile", action="store_true")
    torch.manual_seed(1)
    path = os.path.abspath("tokens.bin")
    np.random.default_rng(1).integers(0, VOCABULARY, 50000).astype(np.uint16).tofile(path)
    train(parser.parse_args(), path)


if __name__ == "__main__":
    main()
