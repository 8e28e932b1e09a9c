"""Counts interrupts, wherever they find it, until it is ended by a handler's exit.

    signalled.py FOLDER
"""
import os
import signal
import sys

import torch


def leave(number, frame):
    sys.exit(9)


signal.signal(signal.SIGTERM, leave)
count = 0
first = os.path.join(sys.argv[1], "here")
while True:
    try:
        if count:
            print(count, flush=True)  # the next one comes after that: not outside of the try
        if not count and not os.path.exists(first):
            with open(first + ".new", "w") as file:
                file.write(str(os.getpid()))
            os.rename(file.name, first)
        while True:
            torch.empty(10)
    except KeyboardInterrupt:
        count += 1
