"""Makes blocks of the CPU until it is ended, with a libc10 as one that was linked with -Bsymbolic: nobody finds
where it calls its reporters, for the names are not in its tables any more.

    deaf.py FOLDER
"""
import os
import signal
import sys
import time

import torch

NAME = b"_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"


def leave(number, frame):
    sys.exit(9)


def hide(name):
    found = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "r+b", 0) as memory:
        for line in maps:
            words = line.split()
            if not words[-1].endswith("/libc10.so") or "r" not in words[1]:
                continue
            begin, end = (int(word, 16) for word in words[0].split("-"))
            memory.seek(begin)
            at = memory.read(end - begin).find(b"\0" + name + b"\0")
            if at >= 0:
                memory.seek(begin + at + 1)
                memory.write(b"X")
                found += 1
    if found != 1:
        sys.exit("the name stands in %d places" % found)


signal.signal(signal.SIGTERM, leave)
torch.empty(10).sum()  # calls that are bound when they are first made
hide(NAME)
with open(os.path.join(sys.argv[1], "here.new"), "w") as file:
    file.write(str(os.getpid()))
os.rename(file.name, os.path.join(sys.argv[1], "here"))
while True:
    torch.empty(10)
    time.sleep(0.001)
