"""Free-threaded since 3.14: each thread executes its own copy of a function's instructions. Threads
that begin to execute what others are in the middle of (the seventeenth makes the list of copies longer),
that end so that their copies can be freed, and other functions whose copies get the memory of these.
Short and long functions, generators that go from one thread to another."""
import random
import sys
import threading

import support
from support import agree, site, site_without_gil

ROUNDS, FUNCTIONS, USED = 40, 60, 8
THREADS = (1, 1, 4, 40)


def function(number, lines):
    """Its instructions are as many as those of all others of as many lines."""
    body = "".join("    x = a + %d\n" % (i % 7) for i in range(lines))
    source = "\n" * (number % 50)
    source += "def f%d(a, take, agree):\n%s    agree(take())\n%s    return agree(take())\n" % (
        number, body, body)
    space = {}
    exec(compile(source, "copies_%d.py" % number, "exec"), space)
    return space["f%d" % number]


def numbers():
    while True:
        agree(site())
        agree(site_without_gil())
        yield


def work(functions, generators, seed):
    for i, one in enumerate(random.Random(seed).sample(functions, USED)):
        one(i, site if i % 2 else site_without_gil, agree)
    while generators:
        try:
            one = generators.pop()
        except IndexError:
            break
        next(one)
        kept.append(one)


def run(functions, generators, seed):
    together = [threading.Thread(target=work, args=(functions, generators, seed * 100 + n))
                for n in range(THREADS[seed % len(THREADS)])]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()


if getattr(sys, "_is_gil_enabled", lambda: True)() or sys.version_info < (3, 14):
    print("skipped: this Python has one copy of each function")
    sys.exit(77)
support.begin()
# Those of one length have copies of one size; the last have more than 8 KiB of instructions.
functions = [[function(i, lines) for i in range(FUNCTIONS)] for lines in (4, 40, 400, 2500)]
kept = []
for seed in range(ROUNDS):
    for some in functions:
        kept = kept or [numbers() for _ in range(20)]
        generators, kept = kept, []
        run(some, generators, seed)
        if seed % 3 == 0:
            # Python itself cannot go on with a generator whose copy was freed.
            del generators[:], kept[:]
            sys._clear_internal_caches()
        kept.extend(generators)
print("%d stacks are known" % support.with_gil.probe_stacks())
support.finish(ROUNDS // len(THREADS) * 4 * sum(THREADS) * USED * 2)
