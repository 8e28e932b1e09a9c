"""DistributedDataParallel on two ranks, AdamW.

    tidemark record -- python3 -m torch.distributed.run --nproc_per_node 2 ddp.py
    tidemark peak --rank 0

PyTorch's thread that watches NCCL looks each 0.1 s, and holds the tensors of what has ended until then.
A step of a real model takes longer than that; these wait.
"""
import time

import torch
import torch.distributed
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer

from switches import DEVICE, autocast, in_place, join_ranks, kind, parse


def main():
    options = parse(["gradient_as_bucket_view", "fused_optimizer", "shard_states", "fully_shard",
                     "half_precision", "autocast"],
                    steps=4, batch=64)
    rank = join_ranks()
    torch.manual_seed(rank)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(6)])
    in_place(options, model)
    if options.fully_shard:
        mesh = init_device_mesh(DEVICE, (torch.distributed.get_world_size(),))
        for layer in model:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    else:
        model = nn.parallel.DistributedDataParallel(
            model, gradient_as_bucket_view=options.gradient_as_bucket_view)
    optimizer = torch.optim.AdamW(model.parameters(), fused=options.fused_optimizer)
    if options.shard_states:
        optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW)
    for step in range(options.steps):
        given = torch.randn((1 + 3 * rank) * options.batch, 512, dtype=kind(options),
                            device=DEVICE)
        with autocast(options):
            loss = model(given).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(rank, step, float(loss))
        time.sleep(0.25)
    torch.distributed.destroy_process_group()


main()
