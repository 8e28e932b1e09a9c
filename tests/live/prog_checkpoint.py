"""A training that saves when it is interrupted.

    prog_checkpoint.py LOG GO

LOG gets lines: "training", "got mark" for each SIGRTMAX, "saving", and "saved" once GO is there. An
interrupt while it saves is one too many: no "saved"."""
import os
import signal
import sys
import time

log = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)


def say(line):
    os.write(log, line.encode() + b"\n")


def train():
    say("training")
    while True:
        time.sleep(0.01)


def save():
    say("saving")
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
    say("saved")


signal.signal(signal.SIGRTMAX, lambda *_: say("got mark"))
try:
    train()
except KeyboardInterrupt:
    save()
