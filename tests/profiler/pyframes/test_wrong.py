"""Layouts that are wrong in one offset: reading with care refuses them or gives other frames, which
the comparison with the interpreter's own then refuses; it never crashes the program."""
import sys

import support
from support import site, with_gil

DELTAS = [-64, -32, -16, -8, -4, 4, 8, 12, 16, 24, 32, 48, 64, 128]
results = {-1: 0, 0: 0, 1: 0}


def deep(n, delta, field):
    if n:
        return deep(n - 1, delta, field)
    return with_gil.probe_wrong(field, delta)


def generator(delta, field):
    yield deep(3, delta, field)


support.begin()
site()
field = 0
while with_gil.probe_wrong(field, 0) != -2:
    assert with_gil.probe_wrong(field, 0) == 1
    for delta in DELTAS:
        results[deep(5, delta, field)] += 1
        results[next(generator(delta, field))] += 1
    field += 1
print("%d fields: %d refused, %d gave other frames, %d gave the same" %
      (field, results[-1], results[0], results[1]))
if field < 15 or results[-1] < 100:
    sys.exit("this tested nothing")
for _ in range(10):
    support.agree(site())
support.finish(10)
