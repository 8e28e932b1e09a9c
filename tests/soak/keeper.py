"""The program that a soak records: keeps eight programs alive, kills some, starts others.

    keeper.py LEDGER PROGRAM SECONDS RATE SEED LOG [PYTHON]

With PYTHON, an interpreter with torch, one of the eight is a small training loop. RATE is of all of
them together, in events a second. What was started, and how it ended, goes into LOG, a line each:
seconds, program, pid, what happened.
"""
import os
import random
import signal
import subprocess
import sys
import time

from ledger import Ledger

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ["stay", "threads", "forks", "execs", "short", "threads", "forks", "train"]
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV]
NAMES_FIRST, NAMES_LAST = 100, 6000


class Place(object):
    """One of the eight: what runs there now."""

    def __init__(self, keeper, mode):
        self.keeper, self.mode, self.process, self.again_at = keeper, mode, None, 0.0

    def command(self):
        keeper = self.keeper
        left = keeper.until - time.monotonic()
        life = left if self.mode == "stay" else min(left, keeper.random.uniform(5, keeper.seconds / 6.0))
        if self.mode == "train":
            return [keeper.python, os.path.join(HERE, "train.py"), keeper.path,
                    str(int(left * 1000))]
        return [keeper.program, keeper.path, self.mode, str(keeper.random.randrange(1 << 30)),
                str(int(life * 1000)), str(keeper.rate // len(MODES))]

    def start(self):
        self.process = subprocess.Popen(self.command(), start_new_session=True)
        self.keeper.say(self, "started")
        # Torch takes seconds to load: it is left alone for longer.
        rest = 20.0 if self.mode == "train" else 0.0
        mean = self.keeper.seconds / 12.0
        self.kill_at = time.monotonic() + rest + self.keeper.random.expovariate(1.0 / mean)

    def kill(self):
        number = self.keeper.random.choice(SIGNALS)
        group = self.keeper.random.random() < 0.5
        self.keeper.say(self, "%s%s" % (number.name, " to the group" if group else ""))
        try:
            (os.killpg if group else os.kill)(self.process.pid, number)
        except ProcessLookupError:
            pass

    def turn(self, now):
        if self.process and self.process.poll() is not None:
            self.keeper.say(self, "ended %d" % self.process.returncode)
            self.process = None
            self.again_at = now + self.keeper.random.uniform(0, 0.5)
        if not self.process and now >= self.again_at:
            self.start()
        elif self.process and self.mode != "stay" and now >= self.kill_at:
            self.kill()
            self.kill_at = now + 5


class Keeper(object):
    def __init__(self, arguments):
        self.path, self.program, seconds, rate, seed, log = arguments[:6]
        self.python = arguments[6] if len(arguments) > 6 else None
        self.ledger = Ledger(self.path)
        self.seconds, self.rate = float(seconds), int(rate)
        self.random = random.Random(int(seed))
        self.log = open(log, "w", 1)
        self.begun = time.monotonic()
        self.until = self.begun + self.seconds
        self.places = [Place(self, mode) for mode in MODES]
        if not self.python:
            self.places[-1].mode = "threads"

    def say(self, place, what):
        self.log.write("%.2f %s %d %s\n" % (time.monotonic() - self.begun, place.mode,
                                            place.process.pid, what))

    def new_names(self, now):
        """They become more until half of the time, so that the second half shows what is flat."""
        part = min(1.0, (now - self.begun) / (self.seconds / 2))
        self.ledger.names(int(NAMES_FIRST + part * (NAMES_LAST - NAMES_FIRST)))

    def keep(self):
        now = time.monotonic()
        while now < self.until:
            self.new_names(now)
            for place in self.places:
                place.turn(now)
            time.sleep(0.1)
            now = time.monotonic()

    def end(self):
        self.ledger.stop()
        for place in self.places:
            if place.process:
                self.say(place, "ended %d" % place.process.wait())


def main():
    keeper = Keeper(sys.argv[1:])
    keeper.keep()
    keeper.end()


main()
