"""The command line of each program here: its own options, and one switch for each change that lowers
its memory. `--levers` lists those that the program has; a switch is called as the column `lever` of
`tidemark peak -f csv` calls the change."""
import argparse
import os
import sys

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def parse(levers, **defaults):
    """`levers` are names of switches; `defaults` are whole numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--levers", action="store_true", help="list the switches, and end")
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), dest=name, type=int, default=value)
    for name in levers:
        parser.add_argument("--" + name.replace("_", "-"), dest=name, action="store_true")
    options = parser.parse_args()
    if options.levers:
        print("\n".join(levers))
        sys.exit(0)
    return options


def in_place(options, model):
    """The model on the device, and in bfloat16 if that switch is set."""
    model = model.to(DEVICE)
    return model.to(torch.bfloat16) if options.half_precision else model


def join_ranks():
    """Of a program of several; its rank. Each has a GPU of its own, if there are any."""
    if DEVICE == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl" if DEVICE == "cuda" else "gloo")
    return torch.distributed.get_rank()


def kind(options):
    """The dtype of inputs that are no whole numbers."""
    return torch.bfloat16 if options.half_precision else torch.float32


def autocast(options):
    """Around forward and loss; does nothing unless that switch is set."""
    return torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=options.autocast)


def step_in_backward(model, make):
    """An optimizer for each parameter, by `make`, whose step comes as soon as its gradient is there."""
    optimizers = {weight: make([weight]) for weight in model.parameters()}

    def step_at_once(weight):
        optimizers[weight].step()
        optimizers[weight].zero_grad()
    for weight in model.parameters():
        weight.register_post_accumulate_grad_hook(step_at_once)
