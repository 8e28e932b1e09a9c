"""The program of bench_torch.py: a GRU language model's training steps, as small as they come in
practice, so that an event's cost shows. Prints the CPU seconds of the process, the wall seconds and
the number of the measured steps.

usage: torch_steps.py [--steps N] [--profiler none|memory|stacks]
"""
import argparse
import contextlib
import time

import torch
from torch import nn

VOCABULARY = 1000


class Model(nn.Module):
    def __init__(self, vocabulary=VOCABULARY, width=96):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        state = torch.zeros(tokens.size(0), self.cell.hidden_size)
        outputs = []
        for column in self.embedding(tokens).unbind(1):
            state = self.cell(column, state)
            outputs.append(state)
        return self.head(torch.stack(outputs, 1))


def train(steps):
    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    tokens = torch.randint(0, VOCABULARY, (16, 33))
    for step in range(steps + 5):
        if step == 5:
            begin = time.process_time(), time.perf_counter()
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        loss = criterion(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
    return time.process_time() - begin[0], time.perf_counter() - begin[1]


def profiler(kind):
    if kind == "none":
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                  profile_memory=True, with_stack=kind == "stacks")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--profiler", default="none", choices=["none", "memory", "stacks"])
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with profiler(arguments.profiler):
        cpu, wall = train(arguments.steps)
    print(cpu, wall, arguments.steps)


main()
