"""A small language model on the CPU, of which everything grows with the batch, and the attention with
the square of the length: cpu.py BATCH LENGTH. It never ends by itself."""
import sys

import torch
from torch import nn

BATCH, LENGTH = int(sys.argv[1]), int(sys.argv[2])
WORDS, WIDTH, HEADS = 2000, 64, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.ask, self.tell = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        query, key, value = (
            part.view(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for part in self.ask(x).chunk(3, -1))
        seen = (query @ key.transpose(2, 3)).softmax(-1) @ value
        return x + self.tell(seen.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Embedding(WORDS, WIDTH), Attention(), Attention(), nn.ReLU(),
                          nn.Linear(WIDTH, WORDS))
    optimizer = torch.optim.Adam(model.parameters())
    while True:
        text = torch.randint(WORDS, (BATCH, LENGTH))
        loss = nn.functional.cross_entropy(model(text).view(-1, WORDS), text.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
