"""FSDP2: each layer and the whole sharded by fully_shard over the ranks that torchrun starts, made on
the device meta, in bf16, with clipping of sharded gradients and a sharded checkpoint."""
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

STEPS, BATCH, LENGTH, WIDTH, LAYERS = 4, 4, 64, 256, 4


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True, norm_first=True)
            for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def sharded(mesh):
    with torch.device("meta"):
        model = Stack()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    model.to_empty(device="cuda")
    for module in model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    return model


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(1)
    model = sharded(init_device_mesh("cuda", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(STEPS):
        x = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
        optimizer.zero_grad()
        loss = model(x).float().square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if dist.get_rank() == 0:
            print("step", step, "loss", loss.item())
    state, optimizer_state = get_state_dict(model, optimizer)
    checkpoints.save({"model": state, "optimizer": optimizer_state}, checkpoint_id="sharded")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
