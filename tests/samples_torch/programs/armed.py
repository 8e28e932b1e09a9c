"""A training loop. FOLDER: at step AT it says so there, and goes on when it is recorded; "-": at once.

    armed.py FOLDER STEPS AT [WORKERS]
"""
import ctypes
import os
import sys
import threading
import time

import torch

folder, steps, at = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.manual_seed(0)
torch.set_num_threads(1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 256)
        self.second = torch.nn.Linear(256, 64)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def say(name):
    with open(os.path.join(folder, name + ".new"), "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, os.path.join(folder, name))


def is_recorded():
    try:
        from tidemark._native import VERSION
    except ImportError:
        return False  # nobody has brought the helper yet (tidemark attach)
    return (ctypes.PyDLL(None).tidemark_py_attach(VERSION, 0) == 1
            and hasattr(torch.nn.Module.__call__, "tidemark_original"))


def wait_to_be_recorded():
    say("here")
    end = time.time() + 600
    while not is_recorded():
        if time.time() > end:
            sys.exit("nobody records")
        torch.empty(1)
        time.sleep(0.001)


def busy(stop, sums):
    """Blocks come and go in other threads, too."""
    total, kept = 0, []
    while not stop.is_set():
        kept.append(torch.full((len(kept) % 50 + 1,), 1))
        time.sleep(0.002)
        if len(kept) > 200:
            total += int(sum(one.sum() for one in kept[:100]))
            del kept[:100]
    sums.append(total > 0)


model = Model()
optimizer = torch.optim.Adam(model.parameters())
data = torch.randn(64, 64)
stop, sums = threading.Event(), []
workers = [threading.Thread(target=busy, args=(stop, sums))
           for _ in range(int(sys.argv[4]) if sys.argv[4:] else 0)]
for worker in workers:
    worker.start()
for step in range(steps):
    optimizer.zero_grad(set_to_none=True)
    batch = data if step > at else data[:8]
    loss = torch.nn.functional.mse_loss(model(batch), batch)
    loss.backward()
    optimizer.step()
    if step == at and folder != "-":
        wait_to_be_recorded()
    if at < 0 and folder != "-" and step == 20:
        say("here")
    if at < 0:
        time.sleep(0.002)
stop.set()
for worker in workers:
    worker.join()
print("%.9f" % loss.item(), all(sums))
sys.exit(7)
