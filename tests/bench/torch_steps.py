"""The program of bench_torch.py: training steps of a GRU language model, one step of which has some
1,080 tensors come and go, whatever its size. Prints a line: "measured", the CPU seconds of this
process, the wall seconds and the number of the measured steps, and the CPU seconds that the profiler
took when it was ended.

usage: torch_steps.py [--model tiny|typical] [--steps N] [--profiler none|memory|stacks]
"""
import argparse
import contextlib
import time

import torch
from torch import nn

WARM_UP = 5
COLUMNS = 32
SIZES = {"typical": (1000, 96, 16), "tiny": (300, 32, 8)}  # vocabulary, width, sequences


class Model(nn.Module):
    def __init__(self, vocabulary, width):
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


def train(size, steps):
    vocabulary, width, sequences = SIZES[size]
    model = Model(vocabulary, width)
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    tokens = torch.randint(0, vocabulary, (sequences, COLUMNS + 1))
    for step in range(steps + WARM_UP):
        if step == WARM_UP:
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
    parser.add_argument("--model", default="typical", choices=sorted(SIZES))
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--profiler", default="none", choices=["none", "memory", "stacks"])
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with profiler(arguments.profiler):
        cpu, wall = train(arguments.model, arguments.steps)
        end = time.process_time()
    print("measured", cpu, wall, arguments.steps, time.process_time() - end)


main()
