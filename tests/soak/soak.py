"""The soak: eight programs under one recorder, random kills, samples, a verdict at the end.

    soak.py TIDEMARK PROGRAM FOLDER SECONDS [--rate N] [--every S] [--python PYTHON] [--seed N]
                                            [--max-size SIZE] [--brief]

Beside the long recording a second, short one is made in a loop; its recorder is killed. FOLDER gets
the recordings, samples.tsv, sides.tsv and report.txt. The exit status is 0 if all held.
"""
import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from ledger import Ledger
from side import Side

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ["at", "rss", "anonymous", "shared", "fds", "threads", "twin_anonymous",
           "guest_anonymous", "guest_shared", "database", "log", "events", "images", "recorder_ticks",
           "lost", "torn", "anomalies"]


def rollup(pid):
    """Bytes: resident, anonymous, shared memory; zeros if the process has gone."""
    found = {}
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            for line in file:
                words = line.split()
                if len(words) == 3 and words[2] == "kB":
                    found[words[0].rstrip(":")] = int(words[1]) * 1024
    except (OSError, ValueError):
        pass
    return found.get("Rss", 0), found.get("Anonymous", 0), found.get("Pss_Shmem", 0)


def count_of(pid, folder):
    try:
        return len(os.listdir("/proc/%d/%s" % (pid, folder)))
    except OSError:
        return 0


def ticks_of(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            words = file.read().rsplit(")", 1)[1].split()
        return int(words[11]) + int(words[12])
    except OSError:
        return 0


def size_of(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def counts(path):
    """Lost, torn, anomalies; a short read of a database that is being written."""
    try:
        base = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=1)
        try:
            return list(base.execute(
                "SELECT (SELECT coalesce(sum(n), 0) FROM lost), (SELECT count(*) FROM torn),"
                " (SELECT count(*) FROM anomaly)").fetchone())
        finally:
            base.close()
    except sqlite3.Error:
        return [0, 0, 0]


def has_torch(python):
    return bool(python) and os.path.exists(python) and subprocess.call(
        [python, "-c", "import torch"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


class Soak(object):
    def __init__(self, options):
        self.options = options
        self.folder = os.path.abspath(options.folder)
        os.makedirs(self.folder, exist_ok=True)
        self.path = os.path.join(self.folder, "ledger")
        self.database = os.path.join(self.folder, "run.db")
        self.ledger = Ledger(self.path, new=True)
        self.twin_ledger = Ledger(self.path + ".twin", new=True)
        self.samples = []
        for name in ("run.db", "run.db-wal", "run.db-shm"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.unlink(os.path.join(self.folder, name))

    def start(self):
        o = self.options
        command = [o.tidemark, "record", "-o", self.database, "--wait", "all",
                   "--max-size", o.max_size, "--", sys.executable,
                   os.path.join(HERE, "keeper.py"), self.path, o.program, str(o.seconds),
                   str(o.rate), str(o.seed), os.path.join(self.folder, "keeper.log")]
        self.begun = time.monotonic()
        with open(os.path.join(self.folder, "record.err"), "w") as err:
            self.recorder = subprocess.Popen(command + ([o.python] if has_torch(o.python) else []), stderr=err)
        # The same program without Tidemark, for as long.
        self.twin_ledger.names(6000)
        self.twin = subprocess.Popen([o.program, self.path + ".twin", "stay", "1",
                                      str(int(o.seconds * 1000)), str(o.rate // 8)])

    def guest(self):
        """The pid of the program that stays: its mode is the first, and its slot among the first."""
        for number in range(min(self.ledger.count(), 16)):
            slot = self.ledger.slot(number)
            if slot.mode == 0:
                return slot.pid
        return 0

    def sample(self):
        pid = self.recorder.pid
        slots = self.ledger.slots()
        guest = rollup(self.guest()) if self.guest() else (0, 0, 0)
        row = [round(time.monotonic() - self.begun, 2)] + list(rollup(pid))
        row += [count_of(pid, "fd"), count_of(pid, "task"), rollup(self.twin.pid)[1],
                guest[1], guest[2], size_of(self.database), size_of(self.database + "-wal"),
                sum(slot.events for slot in slots), len(slots), ticks_of(pid)] + counts(self.database)
        self.samples.append(row)
        with open(os.path.join(self.folder, "samples.tsv"), "a") as file:
            file.write("\t".join(str(value) for value in row) + "\n")

    def run(self):
        with open(os.path.join(self.folder, "samples.tsv"), "w") as file:
            file.write("\t".join(COLUMNS) + "\n")
        self.start()
        side = Side(self.options, self.folder, self.begun + self.options.seconds)
        beside = threading.Thread(target=side.run)
        beside.start()
        at = first = self.begun
        while self.recorder.poll() is None:
            now = time.monotonic()
            if not self.ledger.count():
                first = now  # the keeper has begun nothing: its seconds begin later
            if now >= at and now - first < self.options.seconds:
                self.sample()
                at += self.options.every
            if now - self.begun > self.options.seconds + 1200:
                self.recorder.send_signal(signal.SIGABRT)
            time.sleep(0.2)
        self.twin_ledger.stop()
        self.twin.wait()
        beside.join()
        with open(os.path.join(self.folder, "status"), "w") as file:
            file.write("%d\n" % self.recorder.returncode)
        brief = ["--brief"] if self.options.brief else []
        return subprocess.call([sys.executable, "-B", os.path.join(HERE, "judge.py"),
                                self.options.tidemark, self.folder, "--max-size",
                                self.options.max_size] + brief)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidemark")
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--rate", type=int, default=9600, help="events a second, of all programs")
    parser.add_argument("--every", type=float, default=10, help="seconds between two samples")
    parser.add_argument("--python", help="an interpreter, used if it has torch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-size", default="300MB")
    parser.add_argument("--brief", action="store_true", help="too short to tell a slope")
    return Soak(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
