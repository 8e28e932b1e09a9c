"""Two ranks started by torch.multiprocessing.spawn, which puts no rank into their environment."""
import sys

import torch
import torch.distributed
import torch.multiprocessing
from torch import nn

RANKS = 2


def work(rank, port):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method="tcp://127.0.0.1:%s" % port, rank=rank, world_size=RANKS)
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.randn(3, 8)).pow(2).mean()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print(loss.item().hex())
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (sys.argv[1],), RANKS)
