"""torch.profiler gets CUPTI while it runs: what the helper tells the guest, with a real torch. Run by
an interpreter that has torch; HELPER is the folder of the package."""
import os
import sys

sys.path.insert(0, os.environ["HELPER"])
try:
    import torch
except ImportError:
    print("no torch here")
    sys.exit(77)

from tidemark import _profiler

told = []
failed = []


class Library(object):
    def profiler(self, begins):
        told.append(begins)


def expect(what, want):
    if told != want:
        failed.append(what)
        print("FAIL %s: told %r, wanted %r" % (what, told, want))
    else:
        print("ok   %s" % what)
    del told[:]


def work():
    torch.ones(10).add(1)


def raises(call):
    try:
        call()
    except (RuntimeError, ZeroDivisionError):
        return
    failed.append("no exception came through")


_profiler.install(torch, Library())
CPU = torch.profiler.ProfilerActivity.CPU

with torch.profiler.profile(activities=[CPU]):
    work()
expect("a profiler of the CPU alone leaves CUPTI where it is", [])

# There is no GPU here: the question whether one is asked for is answered by the test.
real = _profiler.uses_cupti
_profiler.uses_cupti = lambda profile, activity: True

with torch.profiler.profile(activities=[CPU]) as profile:
    work()
    expect("it has begun", [1])
expect("it has ended", [0])
assert len(profile.key_averages()) > 0

with torch.autograd.profiler.profile(use_kineto=True):
    work()
expect("the older one", [1, 0])


def fail():
    with torch.profiler.profile(activities=[CPU]):
        1 // 0


raises(fail)
expect("a body that raises", [1, 0])

schedule = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)
with torch.profiler.profile(activities=[CPU], schedule=schedule) as profile:
    for _ in range(8):
        work()
        profile.step()
expect("a schedule", [1, 0, 1, 0])


def refuse(*args, **kwargs):
    raise RuntimeError("no")


broken = torch.autograd.profiler.profile(use_kineto=True)
broken.config = refuse
raises(broken.__enter__)
expect("one that does not start", [1, 0])


class Asks(object):
    def __init__(self, activities):
        self.kineto_activities = activities


CUDA = torch.autograd.ProfilerActivity.CUDA
kinds = torch.autograd.ProfilerActivity
for profile, want in ((Asks({CPU}), False), (Asks({CPU, CUDA}), True), (object(), True)):
    if real(profile, kinds) is not want:
        failed.append("who asks for the GPU")
print("%d failed" % len(failed))
sys.exit(1 if failed else 0)
