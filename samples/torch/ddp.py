"""A model wrapped in DistributedDataParallel, whose memory doubles by that: "Memory consumption for
the model get doubled after wrapped with DDP" (discuss.pytorch.org). Nothing in it knows of
Tidemark.

    tidemark record -- python3 ddp.py --ranks 2
    tidemark record -- python3 -m torch.distributed.run --nproc_per_node 2 ddp.py
    tidemark phases --rank 0; tidemark peak --rank 0

The reducer that DDP makes keeps gradients in buckets, ready to be sent. The first one is born in
the constructor, beside a copy of the parameters that is sent to the other ranks and dies there, and
is as large as all gradients together. The second forward replaces it by buckets of 1 MiB, then
25 MiB each (the caps; a parameter is never cut). With --bucket-view the gradients are views into
the buckets, and no memory of their own.
"""
import argparse
import multiprocessing
import os
import socket
import sys

import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build(options):
    layers = [nn.Linear(options.width, options.width) for _ in range(options.layers)]
    return nn.Sequential(*layers)


def train(options, observe=lambda step, phase: None):
    """The model of this rank, and its last loss; the ranks must have met."""
    torch.manual_seed(options.seed)
    model = build(options).to(options.device)
    observe(None, "built")
    wrapped = DistributedDataParallel(model, gradient_as_bucket_view=options.bucket_view)
    observe(None, "wrapped")
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.01)
    torch.manual_seed(options.seed + 1 + torch.distributed.get_rank())
    for step in range(options.steps):
        given, wanted = torch.randn(2, options.batch, options.width).to(options.device)
        optimizer.zero_grad(set_to_none=True)
        observe(step, "zero_grad")
        answer = wrapped(given)
        observe(step, "forward")
        loss = nn.functional.mse_loss(answer, wanted)
        observe(step, "loss")
        loss.backward()
        observe(step, "backward")
        optimizer.step()
        observe(step, "optimizer")
    return model, loss


def print_counters(step, phase):
    print("rank %d  %4s  %-10s allocated %8.2f MiB, max %8.2f MiB" % (
        torch.distributed.get_rank(), "" if step is None else step, phase,
        torch.cuda.memory_allocated() / 2 ** 20, torch.cuda.max_memory_allocated() / 2 ** 20))


def one_rank(options, observe=None):
    """What each rank does; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are in the environment."""
    cuda = options.device == "cuda"
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    torch.distributed.init_process_group(options.backend or ("nccl" if cuda else "gloo"))
    result = train(options, *[observe] if observe else [print_counters] if cuda else [])
    if torch.distributed.get_rank() == 0:
        print("loss of the last step: %.6f" % result[1].item())
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    return result


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def start_ranks(options, work):
    """A process for each rank, as torch.distributed.run starts them."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()),
                      WORLD_SIZE=str(options.ranks))
    spawn = multiprocessing.get_context("spawn")
    ranks = [spawn.Process(target=work, args=(options,)) for _ in range(options.ranks)]
    for rank, process in enumerate(ranks):
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
        process.start()
    for process in ranks:
        process.join()
    return max(abs(process.exitcode) for process in ranks)


def parse(arguments=None):
    parser = argparse.ArgumentParser(description="Trains with DistributedDataParallel.")
    sizes = dict(width=1024, layers=10, batch=4, steps=3, seed=1)
    for name, value in sizes.items():
        parser.add_argument("--" + name, type=int, default=value, metavar="N", help=str(value))
    parser.add_argument("--ranks", type=int, default=2, metavar="N",
                        help="2; under torch.distributed.run, that decides")
    parser.add_argument("--bucket-view", action="store_true",
                        help="gradient_as_bucket_view=True")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--backend", choices=("gloo", "nccl"), help="gloo, with cuda nccl")
    return parser.parse_args(arguments)


def main(work=one_rank):
    options = parse()
    if "RANK" in os.environ:
        work(options)
        return 0
    return start_ranks(options, work)


if __name__ == "__main__":
    sys.exit(main())
