"""Starts the program gpt-medium's optimizer benchmark on two GPUs, for one step.

At the end of it rank 0 gathers, as tensors on the GPU, what each rank has counted; a rehearsal moves no
values. So each rank writes its counters into a file here, the ones that the program gathers.
"""
import json
import os

import torch

# As in start_gpt_2_7b.py: two ranks would fill the host's memory twice.
torch.nn.init.trunc_normal_ = lambda tensor, **_: tensor

from cs336_systems import sharded_optimizer  # noqa: E402: after the line above

FILE = "counters-%d.json"


def write_down(told, gathered, dst=0):
    rank = told["rank"]
    with open(FILE % rank, "w") as file:
        json.dump({"%d %s" % (rank, phase): [row["allocated_gib"], row["phase_peak_gib"]]
                   for phase, row in told["phases"].items()}, file)
    if gathered is not None:
        gathered[:] = [told] * len(gathered)


sharded_optimizer.dist.gather_object = write_down

if __name__ == "__main__":
    sharded_optimizer.main()
    counters = {}
    for rank in range(2):
        with open(FILE % rank) as file:
            counters.update(json.load(file))
        os.remove(FILE % rank)
    with open("counters.json", "w") as file:
        json.dump(counters, file)
