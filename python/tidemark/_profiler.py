"""torch.profiler beside us: CUPTI serves one tool at a time, so the guest lets go of it before the
profiler begins, and comes back when it has ended. torch.profiler and torch.autograd.profiler both
begin by profile._prepare_trace and end by profile.__exit__, in every torch from 1.9 on.

A profiler that records the CPU alone does not touch CUPTI, and the guest stays.
"""
from tidemark._marks import adopt

MARK = "_tidemark_yielded"


def uses_cupti(profile, activity):
    """Whether this profiler asks for the GPU; if that is not known, yes."""
    try:
        return activity.CUDA in profile.kineto_activities
    except AttributeError:
        return True


def end(profile, library):
    if profile.__dict__.pop(MARK, False):
        library.profiler(0)


def install(torch, library):
    module = torch.autograd.profiler
    activity = torch.autograd.ProfilerActivity
    kind = module.profile
    prepare, leave = kind._prepare_trace, kind.__exit__

    def _prepare_trace(self, *args, **kwargs):
        if uses_cupti(self, activity) and not self.__dict__.get(MARK):
            self.__dict__[MARK] = True
            library.profiler(1)
        try:
            return prepare(self, *args, **kwargs)
        except BaseException:
            end(self, library)
            raise

    def __exit__(self, *args, **kwargs):
        try:
            return leave(self, *args, **kwargs)
        finally:
            end(self, library)

    kind._prepare_trace = adopt(_prepare_trace, prepare)
    kind.__exit__ = adopt(__exit__, leave)
