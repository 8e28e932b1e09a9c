"""An LSTM language model over a text that is read on and on: the hidden state goes from one batch to
the next, and is cut off from the graph in between.

    tidemark record -- python3 word_language_model.py
    tidemark peak
"""
import torch
from torch import nn
from torch.nn import functional

from switches import DEVICE, autocast, in_place, kind, parse


class Model(nn.Module):
    def __init__(self, words, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.memory = nn.LSTM(width, width, layers)
        self.head = nn.Linear(width, words)

    def forward(self, text, state):
        output, state = self.memory(self.embedding(text), state)
        return functional.log_softmax(self.head(output).flatten(0, 1), dim=1), state


def main():
    options = parse(["drop_held", "zero_grad_earlier", "no_states", "half_precision", "autocast"],
                    steps=4, batch=10, length=35, width=128, layers=2, words=2000)
    torch.manual_seed(0)
    model = in_place(options, Model(options.words, options.width, options.layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0,
                                momentum=0.0 if options.no_states else 0.9)
    zero = torch.zeros(options.layers, options.batch, options.width, dtype=kind(options),
                       device=DEVICE)
    state = (zero, zero.clone())
    text = torch.randint(0, options.words, (options.steps * options.length + 1, options.batch),
                         device=DEVICE)
    for step in range(options.steps):
        begin = step * options.length
        given = text[begin:begin + options.length]
        wanted = text[begin + 1:begin + 1 + options.length].flatten()
        state = tuple(part.detach() for part in state)
        with autocast(options):
            output, state = model(given, state)
            loss = functional.nll_loss(output, wanted)
        if options.drop_held:
            del output
        if not options.zero_grad_earlier:
            optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        if options.zero_grad_earlier:
            optimizer.zero_grad()
        print(step, float(loss))


main()
