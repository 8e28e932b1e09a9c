"""An LSTM whose weights are not one contiguous chunk of memory, as "Why do we need
flatten_parameters when using RNN with DataParallel" (discuss.pytorch.org) asks about. Nothing in it
knows of Tidemark.

    tidemark record -- python3 rnn.py --device cuda
    tidemark why; tidemark peak

cuDNN wants all weights of an RNN in one buffer. nn.LSTM sees to that when it is built and when it
moves to a GPU. What gives the weights memory of their own afterwards undoes it: a replica, a copy,
an assignment to `.data`. Then every forward packs them anew, and the packed copy, as large as all
weights, lives until the backward of that call. --flatten calls flatten_parameters() once, which is
the cure. On a CPU nothing is packed in either case: there is no cuDNN.
"""
import argparse
import warnings

import torch
from torch import nn


class Tagger(nn.Module):
    """A class for each word of a sentence."""

    def __init__(self, options):
        super().__init__()
        self.lstm = nn.LSTM(options.input, options.hidden, options.layers, batch_first=True,
                            bidirectional=True)
        self.to_class = nn.Linear(2 * options.hidden, options.classes)

    def forward(self, words):
        found, _ = self.lstm(words)
        return self.to_class(found)


def scatter(lstm):
    """Gives each weight a block of its own, as copies and replicas have."""
    for weight in lstm.parameters():
        weight.data = weight.data.clone()


def bytes_of(module):
    return sum(weight.numel() * weight.element_size() for weight in module.parameters())


def train(options, observe=lambda step, phase: None):
    """The model, and its last loss."""
    torch.manual_seed(options.seed)
    model = Tagger(options).to(options.device)
    scatter(model.lstm)
    if options.flatten:
        model.lstm.flatten_parameters()
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    words = torch.randn(options.batch, options.length, options.input).to(options.device)
    classes = torch.randint(options.classes, (options.batch * options.length,)).to(options.device)
    observe(None, "beginning")
    for step in range(options.steps):
        optimizer.zero_grad(set_to_none=True)
        observe(step, "zero_grad")
        found = model(words)
        observe(step, "forward")
        loss = loss_of(found.flatten(0, 1), classes)
        observe(step, "loss")
        loss.backward()
        observe(step, "backward")
        optimizer.step()
        observe(step, "optimizer")
    return model, loss


def parse(arguments=None):
    parser = argparse.ArgumentParser(description="Trains an LSTM with weights that are not flat.")
    sizes = dict(batch=4, length=12, input=256, hidden=256, layers=2, classes=10, steps=3, seed=1)
    for name, value in sizes.items():
        parser.add_argument("--" + name, type=int, default=value, metavar="N", help=str(value))
    parser.add_argument("--flatten", action="store_true", help="call flatten_parameters() once")
    parser.add_argument("--device", default="cpu", help="cpu (the default) or cuda")
    return parser.parse_args(arguments)


def print_counters(step, phase):
    print("%4s  %-10s allocated %8.2f MiB, max %8.2f MiB" % (
        "" if step is None else step, phase, torch.cuda.memory_allocated() / 2 ** 20,
        torch.cuda.max_memory_allocated() / 2 ** 20))


def main():
    options = parse()
    cuda = torch.device(options.device).type == "cuda"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, loss = train(options, *[print_counters] if cuda else [])
    print("weights of the LSTM: %.2f MiB in %d tensors" % (
        bytes_of(model.lstm) / 2 ** 20, len(list(model.lstm.parameters()))))
    for said in sorted({str(one.message).split(".")[0] for one in caught}):
        if "contiguous chunk" in said:
            print("torch warns: %s." % said)
    if not cuda:
        print("on a CPU nothing is packed: that is cuDNN's doing, use --device cuda to see it")
    print("loss of the last step: %.6f" % loss.item())


if __name__ == "__main__":
    main()
