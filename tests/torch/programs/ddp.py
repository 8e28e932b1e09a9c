"""Two ranks on gloo; each prints the memory of its reducer's buckets as far as it can be known: the
storage of its gradients when they are views, the sizes otherwise."""
import json
import os
import sys

import torch
import torch.distributed
import torch.multiprocessing
from torch import nn

from common import mark

WIDTH, LAYERS = 256, 10


def run(rank, world, port, views):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=world)
    net = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    mark("wrapping")
    wrapped = nn.parallel.DistributedDataParallel(
        net, gradient_as_bucket_view=views, bucket_cap_mb=1
    )
    mark("wrapped")
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    said = {}
    for step in range(3):
        optimizer.zero_grad(set_to_none=True)
        wrapped(torch.ones(4, WIDTH)).sum().backward()
        mark("before step", step)
        optimizer.step()
        mark("after step", step)
        storages = {p.grad.storage().data_ptr() if hasattr(p.grad, "storage") else 0
                    for p in net.parameters()}
        said[str(step)] = sorted(storages)
    if rank == 0:
        json.dump(said, sys.stdout)
        sys.stdout.flush()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    import socket
    import warnings

    warnings.simplefilter("ignore")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(run, args=(2, port, sys.argv[1] == "views"), nprocs=2)
