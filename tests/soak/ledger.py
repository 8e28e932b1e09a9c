"""The ledger as ledger.h lays it out, for the scripts of the soak."""
import mmap
import struct

SLOTS = 131072
BYTES = 64 + 64 * SLOTS
FREE, RUNS, EXITS, EXECS, KILLS_ITSELF = range(5)
MODES = ["stay", "threads", "forks", "execs", "short", "pairs"]


class Slot(object):
    def __init__(self, number, words):
        self.number = number
        self.pid, self.state, self.events, self.allocs, self.frees = words[:5]
        self.bytes, self.threads, self.mode = words[5:]


class Ledger(object):
    def __init__(self, path, new=False):
        with open(path, "w+b" if new else "r+b") as file:
            if new:
                file.truncate(BYTES)
            self.map = mmap.mmap(file.fileno(), BYTES)

    def _word(self, at):
        return struct.unpack_from("<Q", self.map, at)[0]

    def stop(self):
        struct.pack_into("<Q", self.map, 8, 1)

    def names(self, count):
        struct.pack_into("<Q", self.map, 16, count)

    def count(self):
        return min(self._word(0), SLOTS)

    def slot(self, number):
        return Slot(number, struct.unpack_from("<8Q", self.map, 64 + 64 * number))

    def slots(self):
        return [self.slot(number) for number in range(self.count())]
