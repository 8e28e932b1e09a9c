"""Ten thousand functions that are compiled, called once and dropped: their addresses are used
again, and no stack may show the name or the line of a function that is gone."""
import gc
import sys
import threading

import support
from support import agree, site, site_without_gil

FUNCTIONS = 10000
addresses = set()
again = 0


def one(i):
    global again
    source = "\n" * (i % 97) + "def made_%d():\n    agree(take())\n\nmade_%d()\n" % (i, i)
    space = {"agree": agree, "take": site if i % 2 else site_without_gil}
    exec(compile(source, "file_%d.py" % (i % 1000), "exec"), space)
    address = id(space["made_%d" % i].__code__)
    again += address in addresses
    addresses.add(address)


def generator(i):
    agree(site())
    yield i


def same_source(i):
    """Equal code at a new or an old address: only the name differs, by replace()."""
    code = generator.__code__.replace(co_name="g%d" % i)
    generator_of = type(generator)(code, globals())
    list(generator_of(i))


def many(first, last):
    for i in range(first, last):
        one(i)
        if i % 5 == 0:
            same_source(i)


support.begin()
many(0, FUNCTIONS)
gc.collect()  # a free-threaded 3.14 leaves functions to its collector
most = support.with_gil.probe_stacks()
workers = [threading.Thread(target=many, args=(n * 500, n * 500 + 500)) for n in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
gc.collect()
print("%d addresses were used again; %d stacks are known" % (again, most))
if again < FUNCTIONS // 10:
    sys.exit("addresses were not used again: this tested nothing")
if most > 1000:
    sys.exit("stacks of dead functions stay in the table")
support.finish(FUNCTIONS)
