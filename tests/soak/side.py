"""The recording whose recorder is killed: made again and again while the long one goes on."""
import os
import random
import signal
import sqlite3
import subprocess
import time

from ledger import Ledger

LIFE_S = 6.0  # of the program; the recorder is killed before


class Side(object):
    def __init__(self, options, folder, until):
        self.options, self.until = options, until
        self.database = os.path.join(folder, "side.db")
        self.path = os.path.join(folder, "side.ledger")
        self.rows = os.path.join(folder, "sides.tsv")
        self.random = random.Random(options.seed + 1)

    def run(self):
        with open(self.rows, "w") as file:
            file.write("lived_s\tshort_s\tcounted\tstored\tfinished\tintegrity\tprogram\n")
        while time.monotonic() + LIFE_S + 2 < self.until:
            row = self.once()
            with open(self.rows, "a") as file:
                file.write("\t".join(str(value) for value in row) + "\n")
            time.sleep(min(self.random.uniform(0, 20), self.options.seconds / 20))

    def start(self):
        for name in (self.database, self.database + "-wal", self.database + "-shm"):
            if os.path.exists(name):
                os.unlink(name)
        self.ledger = Ledger(self.path, new=True)
        self.ledger.names(100)
        return subprocess.Popen(
            [self.options.tidemark, "record", "-o", self.database, "--", self.options.program,
             self.path, "pairs", str(self.random.randrange(1000)), str(int(LIFE_S * 1000)), "0"],
            stderr=subprocess.DEVNULL)

    def published(self):
        return sum(slot.allocs + slot.frees for slot in self.ledger.slots())

    def has_begun(self):
        """The file is a recording, which on a busy machine takes a while."""
        try:
            base = sqlite3.connect("file:%s?mode=ro" % self.database, uri=True)
            try:
                return bool(base.execute("SELECT 1 FROM meta WHERE key = 'finished'").fetchone())
            finally:
                base.close()
        except sqlite3.Error:
            return False

    def once(self):
        recorder = self.start()
        begun = time.monotonic()
        kill_at = begun + self.random.uniform(1.2, LIFE_S - 0.5)
        seen = []
        while time.monotonic() < kill_at or (recorder.poll() is None and not self.has_begun()):
            seen.append((time.monotonic(), self.published()))
            time.sleep(0.02)
        killed = time.monotonic()
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()
        return self.look(killed, begun, seen)

    def look(self, killed, begun, seen):
        """How short the file is: the time before the kill of the newest count that it has."""
        end = time.monotonic() + 600
        while self.ledger.slot(0).state != 2 and time.monotonic() < end:
            time.sleep(0.1)
        base = sqlite3.connect(self.database)
        stored = base.execute(
            "SELECT (SELECT count(*) + coalesce(sum(free_seq >= 0), 0) FROM allocation)"
            " + (SELECT coalesce(sum(n), 0) FROM lost)").fetchone()[0]
        finished = base.execute("SELECT value FROM meta WHERE key = 'finished'").fetchone()[0]
        integrity = base.execute("PRAGMA integrity_check").fetchone()[0]
        base.close()
        had = [at for at, count in seen if count <= stored]
        short = killed - (had[-1] if had else begun)
        return [round(killed - begun, 2), round(short, 3), seen[-1][1], stored, finished, integrity,
                self.ledger.slot(0).state]
