"""The command line of each program here: its own options, and one switch for each change that lowers
its memory. `--levers` lists those that the program has; a switch is called as the column `lever` of
`tidemark peak -f csv` calls the change."""
import argparse
import sys


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


def step_in_backward(model, make):
    """An optimizer for each parameter, by `make`, whose step comes as soon as its gradient is there."""
    optimizers = {weight: make([weight]) for weight in model.parameters()}

    def step_at_once(weight):
        optimizers[weight].step()
        optimizers[weight].zero_grad()
    for weight in model.parameters():
        weight.register_post_accumulate_grad_hook(step_at_once)
