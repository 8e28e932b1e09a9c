"""A GPT of 124 million parameters as small scripts train it: gpt.py BATCH [LENGTH]. bf16 autocast,
AdamW, a fused attention; it never ends by itself."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

BATCH = int(sys.argv[1])
LENGTH = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
WORDS, WIDTH, HEADS, LAYERS = 50304, 768, 12, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.behind = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.ask, self.tell = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.ask(self.before(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.tell(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.narrow(F.gelu(self.widen(self.behind(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, text):
        places = torch.arange(text.shape[1], device=text.device)
        return self.head(self.last(self.blocks(self.words(text) + self.places(places))))


def main():
    with torch.device("cuda"):
        model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
    while True:
        text = torch.randint(WORDS, (BATCH, LENGTH + 1)).cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(text[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, WORDS), text[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


main()
