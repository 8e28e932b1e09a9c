"""rmm_log.py OUT: the log and the facts that lie here. RMM's own adaptor writes the log; below it is a
resource that hands out numbers for addresses, so that no GPU is needed. pip install rmm-cu12"""
import random
import sys
import threading

import rmm

LARGEST = 1 << 30


class Numbers:
    def __init__(self):
        self.next = 0x7f0000000000

    def take(self, size, _):
        if size > LARGEST:
            raise MemoryError("too large")
        address, self.next = self.next, self.next + (size + 1023) // 512 * 512
        return address

    def give(self, *_):
        pass


class Work:
    def __init__(self, log):
        self.log, self.live, self.random = log, [], random.Random(4)
        self.blocks, self.now, self.peak = [], 0, 0

    def run(self, count):
        for _ in range(count):
            if self.live and self.random.random() < 0.47:
                address, size = self.live.pop(self.random.randrange(len(self.live)))
                self.log.deallocate(address, size)
                self.now -= size
                continue
            size = self.random.choice((7, 512, 1 << 16, 3 << 20, 40 << 20))
            self.live.append((self.log.allocate(size), size))
            self.blocks.append(self.live[-1])
            self.now += size
            self.peak = max(self.peak, self.now)


def main():
    numbers, out = Numbers(), sys.argv[1]
    log = rmm.mr.LoggingResourceAdaptor(rmm.mr.CallbackMemoryResource(numbers.take, numbers.give),
                                        log_file_name=out + ".log")
    work = Work(log)
    work.run(120)
    thread = threading.Thread(target=work.run, args=(60,))
    thread.start()
    thread.join()
    try:
        log.allocate(3 * LARGEST)
    except MemoryError:
        pass
    log.flush()
    with open(out + ".txt", "w", encoding="utf-8") as file:
        file.write(f"peak {work.peak}\n")
        file.writelines(f"{address} {size} {int((address, size) in work.live)}\n"
                        for address, size in work.blocks)


main()
