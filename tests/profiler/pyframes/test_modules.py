"""The module that runs, found by its frames, at the first and at every later look at a stack; and that
an interpreter whose arguments stand elsewhere is refused before anything there is followed."""
import ctypes
import sys

import support
from support import with_gil

with_gil.probe_modules_begin.argtypes = [ctypes.c_void_p] * 4
with_gil.probe_module.argtypes = [ctypes.c_uint64, ctypes.c_uint32]
with_gil.probe_here.restype = ctypes.c_uint64
with_gil.probe_unknown.restype = ctypes.c_uint32
ENGINE = 1 << 32
here = with_gil.probe_here
failures = []
kept = []


def check(got, wanted, what):
    if got != wanted:
        failures.append("%s: %r, not %r" % (what, got, wanted))


def run_backward(then):
    return then()


class Module(object):
    """As torch has them: a call that leads to forward."""

    def __init__(self, *inner):
        self.inner = inner

    def __call__(self, *args):
        return self.forward(*args)

    def forward(self, then):
        for one in self.inner:
            return one(then)
        return then()


class Captured(Module):
    def forward(self, then):
        return [one(then) for one in (lambda: self.inner)()][0] if self.inner else then()


class Holder(Module):
    """A forward without an argument of its own, and one that is let go of."""

    @staticmethod
    def forward(*args):
        return args[0]()


class Letting(Module):
    def forward(self, then):
        del self
        return then()


class Begin(object):
    def plainly(self):
        return with_gil.probe_modules_begin(*(NAMES + (id(self),)))

    def captured(self):
        return with_gil.probe_modules_begin(*(NAMES + ((lambda: id(self))(),)))


CALL = Module.__call__.__code__
NAMES = (id(Module.forward.__code__.co_name), id(CALL.co_name), id(run_backward.__code__))


def begin():
    one = Begin()
    return bool(one.plainly() and one.captured())


def number(module, value):
    assert with_gil.probe_module(id(module), value)
    kept.append(module)
    return module


def take_back():
    """Before their addresses are free for others, as the helper does."""
    while kept:
        with_gil.probe_module(id(kept[-1]), 0)
        kept.pop()


def twice(function, wanted, what):
    """By the slow way, and by what is kept of the stack."""
    for look in ("first", "second", "third"):
        check(function(), wanted, "%s, %s look" % (what, look))


def modules_are_found():
    leaf, captured = number(Module(), 1), number(Captured(), 2)
    twice(lambda: leaf(here), 1, "a leaf")
    twice(lambda: captured(here), 2, "self in a cell")
    twice(lambda: leaf.forward(here), 1, "forward by itself")
    twice(lambda: number(Module(leaf), 3)(here), 1, "the innermost")
    twice(lambda: number(Captured(captured), 3)(here), 2, "the innermost of cells")
    twice(lambda: here(), 0, "outside")
    twice(lambda: leaf(lambda: (lambda: (lambda: here())())()), 1, "through functions")
    twice(lambda: run_backward(here), ENGINE, "the engine")
    twice(lambda: leaf(lambda: run_backward(here)), ENGINE, "the engine in a module")
    twice(lambda: run_backward(lambda: leaf(here)), 1, "a module in the engine")
    take_back()
    twice(lambda: leaf(here), 0, "taken back")
    before = with_gil.probe_unknown()
    leaf(here)
    check(with_gil.probe_unknown() > before, True, "calls of what is not known are counted")


def strangers_stand_between():
    outer = number(Module(Module(Captured(Holder(Letting(Module()))))), 7)
    twice(lambda: outer(here), 7, "a known one behind many that are not")
    holder = number(Holder(), 8)
    twice(lambda: holder(here), 8, "a forward without an argument")
    letting = number(Letting(), 9)
    twice(lambda: letting(here), 9, "a self that is gone in forward")


def another_module_at_the_same_lines():
    """What is kept is of the stack, not of the module."""
    modules = [number(Module(), 100 + i) for i in range(50)]
    for _ in range(3):
        for i, module in enumerate(modules):
            check(module(here), 100 + i, "instance %d" % i)


def what_stands_elsewhere_is_refused():
    refused = 0
    for field in range(4 if sys.version_info < (3, 11) else 1):
        for delta in list(range(-64, 0, 8)) + list(range(8, 256, 8)):
            with_gil.probe_misplace(field, delta)
            works = begin()
            with_gil.probe_misplace(field, -delta)
            refused += not works
            if field == 0:
                check(works, False, "arguments %d bytes off" % delta)
            check(begin(), True, "after %d, %d" % (field, delta))
    check(refused > 30, True, "this tested nothing")


support.begin()
twice(here, 0, "before anything was told")
check(begin(), True, "begin")
for part in (modules_are_found, strangers_stand_between, another_module_at_the_same_lines,
             what_stands_elsewhere_is_refused, modules_are_found):
    part()
    take_back()
for failure in failures[:20]:
    print("FAILED", failure)
print("%d failures, Python %s" % (len(failures), sys.version.split()[0]))
sys.exit(1 if failures or with_gil.probe_why_not() else 0)
