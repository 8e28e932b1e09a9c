"""A GRU cell over a text, whose hidden state is never detached: the graph of every step lives on.

    tidemark record -- python3 rnn_graph.py
    tidemark peak
"""
import torch
from torch import nn
from torch.nn import functional

from switches import DEVICE, parse


def main():
    options = parse(["detach"], steps=8, batch=16, length=20, words=500)
    torch.manual_seed(0)
    embedding, cell, head = [part.to(DEVICE) for part in (
        nn.Embedding(options.words, 64), nn.GRUCell(64, 128), nn.Linear(128, options.words))]
    weights = [*embedding.parameters(), *cell.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(weights, lr=0.0)
    state = torch.zeros(options.batch, 128, device=DEVICE)
    text = torch.randint(0, options.words, (options.batch, options.steps * options.length + 1),
                         device=DEVICE)
    for step in range(options.steps):
        loss = 0
        if options.detach:
            state = state.detach()
        for at in range(step * options.length, (step + 1) * options.length):
            state = cell(embedding(text[:, at]), state)
            loss = loss + functional.cross_entropy(head(state), text[:, at + 1])
        optimizer.zero_grad()
        loss.backward(retain_graph=not options.detach)
        print(step, float(loss))


main()
