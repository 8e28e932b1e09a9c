"""DistributedDataParallel on each rank that torchrun starts: buckets, no_sync, a buffer that is sent
around, gathered results, a barrier."""
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

STEPS, BATCH, WIDTH = 5, 16, 256


def exchange_objects(rank):
    """Objects are real, whatever the device computes: each rank says something else."""
    told = [None] * dist.get_world_size()
    dist.all_gather_object(told, {"rank": rank, "text": "a" * (rank + 1)})
    assert [one["rank"] for one in told] == list(range(len(told))), told
    from_first = ["out/epoch=3.ckpt" if rank == 0 else None]
    dist.broadcast_object_list(from_first, src=0)
    assert from_first == ["out/epoch=3.ckpt"], from_first
    if rank == 0:
        dist.send_object_list([(1, 64, 256)], dst=1)
    elif rank == 1:
        shape = [None]
        dist.recv_object_list(shape, src=0)
        assert shape == [(1, 64, 256)], shape


def first_prepares(rank):
    """Rank 0 takes its time to write what the others read behind a barrier."""
    if rank == 0:
        time.sleep(3)
        with open("prepared", "w") as file:
            file.write("ready")
    dist.barrier()
    with open("prepared") as file:
        assert file.read() == "ready"


def alone(rank):
    """A group of each rank's own, and one of all; made by splitting, for the device is bound."""
    groups = [dist.new_group([number]) for number in range(dist.get_world_size())]
    every = dist.new_group(list(range(dist.get_world_size())))
    one = torch.ones(1, dtype=torch.int64).cuda()
    dist.all_reduce(one, group=groups[rank])
    assert one.item() == 1, one.item()
    one = torch.ones(1, dtype=torch.int64).cuda()
    dist.all_reduce(one, group=every)
    assert one.item() == dist.get_world_size(), one.item()


def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    rank = dist.get_rank()
    first_prepares(rank)
    alone(rank)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(WIDTH, 1024), nn.BatchNorm1d(1024),
                          nn.ReLU(), nn.Linear(1024, 10)).cuda()
    model = DistributedDataParallel(model, device_ids=[local], bucket_cap_mb=1)
    optimizer = torch.optim.AdamW(model.parameters())
    data = TensorDataset(torch.randn(2 * STEPS * BATCH, WIDTH),
                         torch.randint(0, 10, (2 * STEPS * BATCH,)))
    loader = DataLoader(data, batch_size=BATCH, sampler=DistributedSampler(data))
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        half = BATCH // 2
        with model.no_sync():
            nn.functional.cross_entropy(model(x[:half].cuda()), y[:half].cuda()).backward()
        loss = nn.functional.cross_entropy(model(x[half:].cuda()), y[half:].cuda())
        loss.backward()
        optimizer.step()
        if rank == 0:
            print("step", step, "loss", loss.item())
    if rank == 1:  # ranks are not alike
        held = torch.empty(5 << 20, device="cuda")
        del held
    exchange_objects(rank)
    all_losses = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
    dist.all_gather(all_losses, loss.detach())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
