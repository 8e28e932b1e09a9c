"""Stacks at calls of many kinds, each compared with Python's own frames on the same line."""
import asyncio
import contextlib
import functools
import gc
import signal
import sys
import threading
import time

import support
from support import agree, site, site_without_gil


def both():
    agree(site(), None)
    agree(site_without_gil())


def nested(depth):
    if depth:
        return nested(depth - 1)
    agree(site())
    agree(site_without_gil())


def identity(*arguments, **named):
    return arguments


def multi_line():
    identity(
        1,
        agree(site()),
        identity(
            agree(
                site()) if False else agree(site()),
        ),
        key=agree(site_without_gil()),
    )
    values = [
        agree(site()),
        {
            "a": agree(site()),
        },
    ]
    return values


def lambdas():
    call = lambda x: x()  # noqa: E731
    call(lambda: agree(site()))
    list(map(lambda _: agree(site_without_gil()), range(3)))
    sorted([3, 1, 2], key=lambda x: (agree(site()), x)[1])
    functools.reduce(lambda a, b: (agree(site()), b)[1], range(4))
    functools.partial(lambda x, y: agree(site()), 1)(2)


def generator(count):
    for _ in range(count):
        yield agree(site())
    yield from (agree(site()) for _ in range(2))
    try:
        yield 1
    finally:
        agree(site_without_gil())


def generators():
    for _ in generator(3):
        pass
    unfinished = generator(0)
    next(unfinished)
    unfinished.close()
    thrown = generator(1)
    with contextlib.suppress(ValueError):
        thrown.throw(ValueError())
    del thrown


async def coroutine(depth):
    agree(site())
    await asyncio.sleep(0)
    agree(site_without_gil())
    if depth:
        await coroutine(depth - 1)
    async with context():
        agree(site())
    return [agree(site()) async for _ in numbers()]


async def numbers():
    for i in range(2):
        agree(site())
        yield i


@contextlib.asynccontextmanager
async def context():
    agree(site())
    yield
    agree(site())


def coroutines():
    asyncio.run(coroutine(3))


def comprehensions():
    agree(site())
    [agree(site()) for _ in range(2)]
    {agree(site()) for _ in range(2)}
    {i: agree(site()) for i in range(2)}
    [[agree(site()) for _ in range(2)] for _ in range(2)]
    list(agree(site_without_gil()) for _ in range(2))


def class_bodies():
    class Outer:
        first = agree(site())

        class Inner:
            second = agree(site_without_gil())

            def method(self):
                return agree(site())

    Outer.Inner().method()


class Hot:
    def __init__(self, deep):
        agree(site())
        self.value = deep

    def __del__(self):
        agree(site_without_gil())

    @property
    def prop(self):
        return agree(site())

    def __getattr__(self, name):
        return agree(site())

    def __getitem__(self, key):
        return agree(site())

    def __lt__(self, other):
        agree(site())
        return self.value < other.value

    def __enter__(self):
        agree(site())

    def __exit__(self, *rest):
        agree(site())


def special_methods():
    for i in range(300):
        hot = Hot(i)
        hot.prop, hot.missing, hot[1]
    sorted([Hot(2), Hot(1), Hot(3)])
    with Hot(1):
        agree(site())


@functools.lru_cache(None)
def cached(value):
    return agree(site())


def exceptions():
    for i in range(3):
        cached(i)
    try:
        try:
            raise ValueError(agree(site()))
        except ValueError:
            agree(site())
            raise KeyError
        finally:
            agree(site_without_gil())
    except KeyError:
        agree(site())


def weird_names():
    names = {"site": site, "agree": agree}
    for file in ("/tmp/\u00e4\u00f6/\u65e5\u672c.py", "/x/\U0001f600.py", "<string>", "", "l\xe9.py"):
        source = "def f\u00fcnf_\u65e5\u672c():\n    agree(site())\n\n\nagree(site()); f\u00fcnf_\u65e5\u672c()\n"
        exec(compile(source, file, "exec"), dict(names))
    exec("agree(site())", dict(names))
    eval("agree(site())", dict(names))


def replaced_names():
    names = ["a\ud800b", "nul\0nul", "x" * 1500, "\U0001f600" * 10, ""]
    for name in names:
        def function():
            return agree(site())
        parts = {"co_name": name}
        if hasattr(function.__code__, "co_qualname"):
            parts["co_qualname"] = name
        function.__code__ = function.__code__.replace(**parts)
        function()


def known_lines():
    found = []
    source = "\n\n\nfound.append(site())\ndef f(\n  a=1):\n    found.append(\n        site())\nf()\n"
    exec(compile(source, "known.py", "exec"), {"found": found, "site": site})
    assert support.read(found[0])[0] == ("<module>", "known.py", 4), support.read(found[0])
    assert support.read(found[1])[:2] == [("f", "known.py", 8), ("<module>", "known.py", 9)]
    assert support.read(found[1])[2][0] == "known_lines"


def long_jumps():
    source = "def f():\n    agree(site())\n" + "\n" * 3000 + "    agree(site())\n"
    source += "    x = 0\n" + "    x += 1; x -= 1\n" * 2000 + "    agree(site())\nf()\n"
    exec(compile(source, "long.py", "exec"), {"agree": agree, "site": site})


def recursion():
    sys.setrecursionlimit(3000)
    for depth in (100, 230, 250, 256, 257, 900):
        nested(depth)
    sys.setrecursionlimit(1000)


def traced():
    sys.settrace(lambda *_: (lambda *_: None))
    try:
        nested(3), multi_line(), comprehensions()
    finally:
        sys.settrace(None)
    sys.setprofile(lambda *_: None)
    try:
        nested(3), multi_line(), lambdas()
    finally:
        sys.setprofile(None)


class Cycle:
    def __init__(self):
        self.self = self

    def __del__(self):
        agree(site())
        agree(site_without_gil())


def with_cells(a, b):
    def inner():
        return a, b
    Cycle()
    return inner()


def makes_generator(a):
    Cycle()
    yield a
    (lambda: a)()


def collector():
    """Finalizers that the collector runs while a frame or a generator is being made."""
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for i in range(200):
            with_cells(i, i)
            list(makes_generator(i))
            Hot(i)
            [lambda: i for _ in range(2)]
    finally:
        gc.set_threshold(*before)
        gc.collect()


def signals():
    """A handler runs between two instructions, also before the first one of a frame."""
    if threading.current_thread() is not threading.main_thread():
        return
    end = time.monotonic() + 0.1

    def handler(*_):
        agree(site())
        if time.monotonic() < end:  # once more; never while this one runs
            signal.setitimer(signal.ITIMER_REAL, 0.0003)

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0003)
    while time.monotonic() < end:
        identity(*[identity(i) for i in range(20)])
    signal.signal(signal.SIGALRM, signal.SIG_IGN)


CASES = [collector, signals, both, lambda: nested(12), multi_line, lambdas, generators, coroutines, comprehensions,
         class_bodies, special_methods, exceptions, weird_names, replaced_names, known_lines,
         long_jumps, traced]


def threads():
    def run():
        for case in CASES[:10]:
            case()
    workers = [threading.Thread(target=run) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


support.begin()
for _ in range(3):
    for one in CASES:
        one()
    recursion()
threads()
assert support.with_gil.probe_compared() > 0, "the interpreter never confirmed a stack"
support.finish(9000)
