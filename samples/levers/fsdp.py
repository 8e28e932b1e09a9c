"""FSDP2 on two ranks: weights, gradients and states are shared out, and gathered block by block; with
--kept 1 they stay from forward to backward.

    tidemark record -- python3 -m torch.distributed.run --nproc_per_node 2 fsdp.py
    tidemark peak --rank 0
"""
import torch
import torch.distributed
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from switches import DEVICE, in_place, join_ranks, kind, parse


class Block(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.up, self.down = nn.Linear(wide, 4 * wide), nn.Linear(4 * wide, wide)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.checkpoint = options.checkpoint
        self.blocks = nn.ModuleList([Block(256) for _ in range(options.blocks)])

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoint else block(x)
        return x


def main():
    options = parse(["checkpoint", "fused_optimizer", "reshard_after_forward", "half_precision",
                     "mixed_precision"],
                    steps=4, batch=256, kept=0, blocks=4)
    join_ranks()
    torch.manual_seed(0)
    mesh = init_device_mesh(DEVICE, (torch.distributed.get_world_size(),))
    model = in_place(options, Model(options))
    again = options.reshard_after_forward or not options.kept
    dtype = torch.bfloat16 if options.mixed_precision else None
    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=dtype)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=again)
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=again)
    optimizer = torch.optim.Adam(model.parameters(), fused=options.fused_optimizer)
    for step in range(options.steps):
        optimizer.zero_grad()
        given = torch.randn(options.batch, 256, dtype=kind(options), device=DEVICE)
        loss = model(given).square().mean()
        loss.backward()
        optimizer.step()
        print(step, float(loss))
    torch.distributed.destroy_process_group()


main()
