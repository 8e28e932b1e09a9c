"""An attention sequence-to-sequence model in training, as PyTorch users write it: the program of
"High GPU memory usage problem" (discuss.pytorch.org), asked about in late 2018, written anew with
the same dimensions and the same arithmetic. Nothing in it knows of Tidemark.

    tidemark record -- python3 seq2seq.py
    tidemark phases; tidemark peak

The source goes through a bidirectional GRU. Each step of the target is two GRU cells with additive
attention between them; what they found is projected onto the whole vocabulary at the end. Loss is
the cross entropy, summed; the optimizer is Adam. By default all dimensions are a fifth, roughly, of
those of the thread; --full has them as they were, and needs 5 GiB.
"""
import argparse
import collections

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD, END = 0, 1  # tokens; END also stands before the first word of a target
SMALL = dict(batch=40, length=20, vocab=6000, input=100, hidden=200, attention=200)
FULL = dict(batch=80, length=50, vocab=30000, input=500, hidden=1000, attention=1000)

Memory = collections.namedtuple("Memory", "keys values hidden_from state")


class Reader(nn.Module):
    """The source, as something to attend to: one value and one key for each token."""

    def __init__(self, size):
        super().__init__()
        self.words = nn.Embedding(size.vocab, size.input, PAD)
        self.gru = nn.GRU(size.input, size.hidden, batch_first=True, bidirectional=True)
        self.to_key = nn.Linear(2 * size.hidden, size.attention)
        self.to_state = nn.Linear(size.hidden, size.hidden)

    def read(self, source):
        lengths = source.ne(PAD).sum(1).cpu()
        packed = pack_padded_sequence(self.words(source), lengths, batch_first=True)
        packed, last = self.gru(packed)
        values, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.size(1))
        return values, last[1]

    def forward(self, source):
        values, last = self.read(source)
        keys = torch.tanh(self.to_key(values))
        state = torch.tanh(self.to_state(last))
        return Memory(keys, values, source.eq(PAD), state)


class Attention(nn.Module):
    """Additive: v . tanh(key + W query)."""

    def __init__(self, size):
        super().__init__()
        self.to_query = nn.Linear(size.hidden, size.attention)
        self.weigh = nn.Linear(size.attention, 1)

    def forward(self, state, memory):
        mixed = memory.keys + self.to_query(state)[:, None]
        scores = self.weigh(torch.tanh(mixed))[..., 0]
        with torch.no_grad():
            scores.masked_fill_(memory.hidden_from, float("-inf"))
        share = torch.softmax(scores, 1)
        return torch.bmm(share[:, None], memory.values)[:, 0]


class Writer(nn.Module):
    """The logits of all target tokens, each written with the true ones before it in view."""

    def __init__(self, size):
        super().__init__()
        self.words = nn.Embedding(size.vocab, size.input, PAD)
        self.before = nn.GRUCell(size.input, size.hidden)
        self.attend = Attention(size)
        self.after = nn.GRUCell(2 * size.hidden, size.hidden)
        self.squeeze = nn.Linear(size.input + 3 * size.hidden, size.input)
        self.to_vocab = nn.Linear(size.input, size.vocab)

    def forward(self, previous, memory):
        words, state = self.words(previous), memory.state
        states, contexts = [], []
        for word in words.unbind(1):
            state = self.before(word, state)
            context = self.attend(state, memory)
            state = self.after(context, state)
            states.append(state)
            contexts.append(context)
        states, contexts = torch.stack(states, 1), torch.stack(contexts, 1)
        found = torch.cat((words, states, contexts), 2)
        return self.to_vocab(torch.tanh(self.squeeze(found)))


class Translator(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.reader, self.writer = Reader(size), Writer(size)

    def forward(self, source, target):
        start = target.new_full((target.size(0), 1), END)
        return self.writer(torch.cat((start, target[:, :-1]), 1), self.reader(source))


def batch(size, device):
    """Sentences of full length; which words they are does not matter here."""
    words = torch.randint(END + 1, size.vocab, (2, size.batch, size.length))
    return words[0].to(device), words[1].to(device)


def train(options, observe=lambda step, phase: None):
    """The model, and its last loss. observe() is called where the thread printed its counters."""
    torch.manual_seed(options.seed)
    model = Translator(options).to(options.device)
    for weight in model.parameters():
        nn.init.uniform_(weight, -0.1, 0.1)
    loss_of = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")
    optimizer = torch.optim.Adam(model.parameters())
    observe(None, "beginning")
    for step in range(options.steps):
        source, target = batch(options, options.device)
        model.zero_grad(set_to_none=options.grads == "none")
        observe(step, "zero_grad")
        logits = model(source, target)
        observe(step, "forward")
        logits = logits.view(-1, options.vocab)
        loss = loss_of(logits, target.reshape(-1)) / options.batch
        if options.drop_logits:
            del logits
        observe(step, "loss")
        loss.backward()
        observe(step, "backward")
        optimizer.step()
        observe(step, "optimizer")
    return model, loss


def print_counters(step, phase):
    counters = (torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(),
                torch.cuda.memory_reserved(), torch.cuda.max_memory_reserved())
    if step is None:
        print("%4s  %-10s %10s %10s %10s %10s" % (
            "step", "phase", "allocated", "max", "reserved", "max"))
    print("%4s  %-10s" % ("" if step is None else step, phase),
          *("%6.0f MiB" % (value / 2 ** 20) for value in counters))


def parse(arguments=None):
    parser = argparse.ArgumentParser(description="Trains a sequence-to-sequence model.")
    for name, value in SMALL.items():
        parser.add_argument("--" + name, type=int, metavar="N",
                            help="%d; with --full %d" % (value, FULL[name]))
    parser.add_argument("--full", action="store_true", help="the dimensions of the thread")
    parser.add_argument("--steps", type=int, default=3, metavar="N", help="3")
    parser.add_argument("--grads", choices=("zero", "none"), default="zero",
                        help="what zero_grad leaves: zeros, in place (the default), or nothing")
    parser.add_argument("--drop-logits", action="store_true",
                        help="let go of the logits once the loss is there")
    parser.add_argument("--device", default="cpu", help="cpu (the default) or cuda")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    options = parser.parse_args(arguments)
    for name, value in (FULL if options.full else SMALL).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def main():
    options = parse()
    observed = [print_counters] if torch.device(options.device).type == "cuda" else []
    _, loss = train(options, *observed)
    print("loss of the last step: %.6f" % loss.item())


if __name__ == "__main__":
    main()
