"""A step and what is left behind it: a zero_grad, and a model that lives until the interpreter takes
its modules down."""
import atexit
import time

import torch

net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


@atexit.register
def at_exit():
    held.clear()
    time.sleep(0.05)


held = [torch.ones(1000)]
for _ in range(2):
    net(torch.ones(8, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
