"""Ranks with numbers of their own, over NCCL on devices that are not there and over Gloo on the host: what
each has afterwards is the same. Run inside of `tidemark rehearse --gpus 3`."""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def all_reduce(rank, size, device, group):
    it = torch.tensor([rank + 1, 10 * rank], device=device)
    dist.all_reduce(it, group=group)
    return it


def mean_of_counts(rank, size, device, group):
    tokens = (torch.arange(8, device=device) > rank).sum()
    dist.all_reduce(tokens, group=group)
    return tokens.item() / size


def longest(rank, size, device, group):
    it = torch.tensor(3 * rank % 5, device=device)
    dist.all_reduce(it, op=dist.ReduceOp.MAX, group=group)
    return it


def gathered(rank, size, device, group):
    parts = [torch.zeros(2, dtype=torch.long, device=device) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([rank, 7 - rank], device=device), group=group)
    return torch.stack(parts)


def gathered_flat(rank, size, device, group):
    out = torch.zeros(2 * size, dtype=torch.long, device=device)
    dist.all_gather_into_tensor(out, torch.tensor([rank, 7 - rank], device=device), group=group)
    return out


def padded(rank, size, device, group):
    """Lengths first, then as much as the longest one: the usual way with tensors that differ."""
    own = torch.arange(rank + 2, device=device)
    lengths = [torch.zeros(1, dtype=torch.long, device=device) for _ in range(size)]
    dist.all_gather(lengths, torch.tensor([own.numel()], device=device), group=group)
    longest_one = max(length.item() for length in lengths)
    padding = torch.zeros(longest_one - own.numel(), dtype=torch.long, device=device)
    parts = [torch.zeros(longest_one, dtype=torch.long, device=device) for _ in range(size)]
    dist.all_gather(parts, torch.cat([own, padding]), group=group)
    return torch.cat([part[:length.item()] for part, length in zip(parts, lengths)])


def broadcast(rank, size, device, group):
    it = torch.full((3,), rank, device=device)
    dist.broadcast(it, src=1, group=group)
    return it


def objects(rank, size, device, group):
    everybody, first = [None] * size, [{"rank": rank}, "x" * rank]
    dist.all_gather_object(everybody, ("rank", rank), group=group)
    dist.broadcast_object_list(first, src=1, group=group)
    return [everybody, first]


def around(rank, size, device, group):
    sent, got = torch.tensor([rank, 5], device=device), torch.zeros(2, dtype=torch.long,
                                                                   device=device)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, (rank + 1) % size, group=group),
                                    dist.P2POp(dist.irecv, got, (rank - 1) % size, group=group)])
    for work in works:
        work.wait()
    return got


def shape_first(rank, size, device, group):
    """Stages of a pipeline: a shape, then what has it."""
    if rank == 0:
        dist.send(torch.tensor([4, 2], device=device), 1, group=group)
        dist.send(torch.arange(8, device=device).view(4, 2), 1, group=group)
    if rank != 1:
        return None
    shape = torch.zeros(2, dtype=torch.long, device=device)
    dist.recv(shape, 0, group=group)
    it = torch.zeros(shape.tolist(), dtype=torch.long, device=device)
    dist.recv(it, 0, group=group)
    return it


def many_at_once(rank, size, device, group):
    """All are sent, and to be received, before anybody waits for one."""
    sent = [torch.full((4,), 100 * rank + i, device=device) for i in range(40)]
    got = [torch.zeros(4, dtype=torch.long, device=device) for _ in sent]
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, it, (rank + 1) % size, group=group) for it in sent]
        + [dist.P2POp(dist.irecv, it, (rank - 1) % size, group=group) for it in got])
    for work in works:
        work.wait()
    return torch.stack(got)


def many_under_way(rank, size, device, group):
    """One rank comes late; the others have put all of theirs in by then."""
    counts = [torch.full((2,), rank + i, device=device) for i in range(40)]
    if rank == 1:
        time.sleep(2)
    works = [dist.all_reduce(it, group=group, async_op=True) for it in counts]
    for work in works:
        work.wait()
    return torch.stack(counts)


CASES = [all_reduce, mean_of_counts, longest, gathered, gathered_flat, padded, broadcast, objects,
         around, shape_first, many_at_once, many_under_way]
NCCL_ONLY = {  # Gloo has none of these; what they make is written down
    "reduce_scatter": (lambda rank, size, device: reduce_scatter(rank, device, size),
                       lambda rank, size: [sum(range(size)) * (rank + 1)]),
    "all_to_all": (lambda rank, size, device: all_to_all(rank, device, size),
                   lambda rank, size: [10 * one + rank for one in range(size)]),
}


def reduce_scatter(rank, device, size):
    out = torch.zeros(1, dtype=torch.long, device=device)
    dist.reduce_scatter_tensor(out, rank * torch.arange(1, size + 1, device=device))
    return out


def all_to_all(rank, device, size):
    out = torch.zeros(size, dtype=torch.long, device=device)
    dist.all_to_all_single(out, 10 * rank + torch.arange(size, device=device))
    return out


def plain(value):
    return value.tolist() if torch.is_tensor(value) else value


def run(rank, size, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=size)
    gloo, wrong = dist.new_group(backend="gloo"), 0
    for case in CASES:
        got = plain(case(rank, size, torch.device("cuda", rank), None))
        want = plain(case(rank, size, torch.device("cpu"), gloo))
        if got != want:
            print("rank %d of %d, %s: %r instead of %r" % (rank, size, case.__name__, got, want))
            wrong += 1
    for name, (function, right) in NCCL_ONLY.items():
        got, want = function(rank, size, torch.device("cuda", rank)).tolist(), right(rank, size)
        if got != want:
            print("rank %d of %d, %s: %r instead of %r" % (rank, size, name, got, want))
            wrong += 1
    dist.barrier()
    dist.destroy_process_group()
    if wrong:
        sys.exit(1)


def free_port():
    import socket
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


if __name__ == "__main__":
    for ranks in (2, 3):
        mp.spawn(run, (ranks, free_port()), nprocs=ranks)
