"""Raw marks of what torch does: the outermost module call, the autograd engine, zero_grad,
Optimizer.step, GradScaler.step.

One stack of open marks for each thread; `inner` is the kind of the innermost one: a module call
inside a forward, or a nested run of the engine inside a backward, is only passed on. Which threads
belong together is for the recorder to find out; marks of threads of the autograd engine say so.
`quick[0]` is the same kind while one thread alone has made marks: a compiler must be able to trace
the nested call of a module. Without a compiler that call does not get here at all: libtidemark.so
passes it on by what it finds in `cell` (see Library.shorten), or models that nest deeply would meet
the limit of recursion sooner than without us.

A mark is put on the stack inside the `try` whose `finally` takes it off, so that an exception at any
instant leaves nothing behind but in the few byte codes of `finally` itself; what an interrupt left
there is dropped at the next zero_grad or step of its thread. At the limit of recursion what is
called may not run: push makes its calls before or after its changes, pop makes its changes first
and without a call.

The wrappers begin with the test for a compiler that traces them: it must find the original call
and nothing of ours.
"""
import inspect
import os
import sys
import types
from _thread import _local
from itertools import count

from tidemark._lists import Table

FORWARD, BACKWARD, ZERO_GRAD, OPTIMIZER, SCALER = 1, 2, 3, 4, 5

# Flags, as enum mark_flag of ring/event.h has them.
GRAD, TRAINING, LOSS_CLASS, PARAMETERS, ACCUMULATE, ONE_ELEMENT, ENGINE = 1, 2, 4, 8, 16, 32, 64


class Mark(object):
    __slots__ = ("kind", "identity")

    def __init__(self, kind, identity):
        self.kind = kind
        self.identity = identity


class Thread(object):
    """What a thread has open."""

    __slots__ = ("open", "inner", "cell", "stepping", "engine")

    def __init__(self, library):
        self.open = []
        self.inner = 0
        self.cell = library.inner_here()  # `inner` again, for libtidemark.so
        self.cell[0] = 0
        self.stepping = set()  # ids of optimizers in their step()
        # In an engine's thread the backward that it works for is another's.
        self.engine = ENGINE if library.is_engine() else 0


class Here(_local):
    """The calling thread's, in `mine`; made anew by each."""

    def __init__(self, library):
        self.mine = Thread(library)


class Marks(object):
    """The stacks, and the way of a mark into the recording."""

    def __init__(self, library):
        self.library = library
        self.here = Here(library)
        self.quick = [0]
        self.first = None  # of the first thread its list of open marks
        self.several = False
        self.forwards = {}  # keys: the open ones of all threads
        self.numbers = Table()
        self.unused = count(1)

    def identify(self, mark, owner):
        """Gives the mark a number that no other object ever gets: id() is used again when its object
        is dead, and a new optimizer would pass for an old one."""
        number = self.numbers.get(owner)
        if number is None:
            try:
                number = self.numbers.put(owner, next(self.unused))
            except TypeError:  # it has no weak references
                number = id(owner)
        mark.identity = number

    def push(self, mark, flags, name):
        library, mine = self.library, self.here.mine
        number = library.names.get(name)
        if number is None:
            number = library.name(name)
        kind = mark.kind
        mine.open.append(mark)
        mine.inner = mine.cell[0] = kind
        if kind == FORWARD:
            self.forwards[mark] = True
        if not mine.engine:
            self.remember(mine)
        library.enter(kind, mark.identity, flags | mine.engine, number)

    def pop(self, mark, flags, failed):
        """Wherever it stands: something may have been left above it. A child of fork left its
        parent's."""
        mine = self.here.mine
        stack = mine.open
        if mark in self.forwards:
            del self.forwards[mark]
        if stack and stack[-1] is mark:
            del stack[-1]
        elif mark in stack:
            stack.remove(mark)
        else:
            return
        mine.inner = mine.cell[0] = stack[-1].kind if stack else 0
        if not mine.engine:
            self.remember(mine)
        self.library.exit(mark.kind, mark.identity, flags | mine.engine, failed)

    def remember(self, mine):
        if self.first is not mine.open:
            if self.first is None:
                self.first = mine.open
            else:
                self.several = True
        self.quick[0] = 0 if self.several else mine.inner

    def drop_stale(self):
        """Before an outermost zero_grad or step: forwards of this thread were interrupted."""
        for mark in list(self.here.mine.open):
            if mark.kind == FORWARD:
                self.pop(mark, 0, 1)

    def settle(self):
        """Outside a backward and a step no forward can be going on in this thread."""
        mine = self.here.mine
        if mine.engine:
            return
        for mark in mine.open:
            if mark.kind == BACKWARD or mark.kind == OPTIMIZER:
                return
        mine.stepping.clear()
        if mine.open:
            self.drop_stale()

    def clear(self):
        mine = self.here.mine
        del mine.open[:]
        self.forwards.clear()
        mine.inner = mine.cell[0] = self.quick[0] = 0
        self.first, self.several = None, False
        mine.stepping.clear()


def adopt(wrapper, original):
    """Gives a wrapper the looks of what it wraps, without __wrapped__: some releases of torch take
    one layer off a function that has it."""
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        try:
            setattr(wrapper, name, getattr(original, name))
        except AttributeError:
            pass
    try:
        wrapper.__signature__ = inspect.signature(original)
    except (TypeError, ValueError):
        pass
    for name, value in getattr(original, "__dict__", {}).items():
        if name not in ("__wrapped__", "__signature__"):
            setattr(wrapper, name, value)
    wrapper.tidemark_original = original
    return wrapper


def has_parameters(module):
    """As next(module.parameters(), None) is not None, at a fraction of the cost."""
    for parameter in module._parameters.values():
        if parameter is not None:
            return True
    for child in module._modules.values():
        if child is not None and has_parameters(child):
            return True
    return False


class Installer(object):
    """What of torch is replaced, each once."""

    made = []  # the one of this process

    def __init__(self, torch, library):
        from tidemark import _modules, _tags

        self.made.append(self)
        self.torch = torch
        self.library = library
        self.marks = Marks(library)
        self.tags = _tags.Tags(torch, library)
        self.modules = _modules.Modules(library, self.tags.names)
        self.compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)
        if self.compiling is None:
            self.compiling = _never
        self.tracing = torch._C._get_tracing_state
        self.before_step = self.unseen(self.tags.before_step)
        self.after_step = self.unseen(self.tags.after_step)
        self.see_call = self.unseen(self.look_at_call)
        self.see_graph = self.unseen(self.tags.dtypes.of_graphs)
        self.is_one_element = self.single(torch)
        self.is_grad_enabled = torch.is_grad_enabled
        self.tensor = torch.Tensor
        self.codes = []  # of wrappers: torch.compile is to leave their frames alone
        self.skipped = False
        self.stepped = None  # called after each step of an optimizer
        self.trains = None  # called after the first

    def wrapper_made(self, wrapper):
        self.codes.append(wrapper.__code__)
        if self.skipped:
            self.skipped = False

    def skip_codes(self):
        """Once torch._dynamo is there. Its name for this differs between releases."""
        frames = sys.modules.get("torch._dynamo.eval_frame")
        skip = getattr(frames, "skip_code", None)
        if skip is None:
            low = sys.modules.get("torch._C._dynamo.eval_frame")
            skip = getattr(low, "skip_code", None)
        if skip is None:
            return
        for code in self.codes:
            skip(code)
        self.skipped = True

    # ---- forward ----

    def begin_forward(self, mark, module, args, kwargs):
        if not self.skipped and "torch._dynamo" in sys.modules:
            self.skip_codes()
        grad = self.is_grad_enabled()
        parameters = has_parameters(module)
        flags = (GRAD if grad else 0) | (PARAMETERS if parameters else 0)
        if getattr(module, "training", False):
            flags |= TRAINING
        if isinstance(module, self.loss_class):
            flags |= LOSS_CLASS
        # Inside another thread's forward it may be a replica, of copies that live no longer.
        tagged = (parameters or grad) and not self.marks.forwards
        self.marks.identify(mark, module)
        self.marks.push(mark, flags, type(module).__name__)
        self.see_call(module, parameters, args if tagged else None, kwargs, grad)

    def look_at_call(self, module, parameters, args, kwargs, grad):
        """args is None: the tensors are not to be tagged."""
        try:
            if not self.marks.here.mine.engine:
                self.modules.called(module, parameters)
        finally:
            if args is not None:
                self.tags.called(module, parameters, args, kwargs, grad)

    def end_forward(self, mark, result, failed):
        one = False
        try:
            if failed and stopped_early():
                failed = 0
            one = type(result) is self.tensor and self.is_one_element(result)
        finally:
            self.marks.pop(mark, ONE_ELEMENT if one else 0, failed)

    def module_call(self):
        module_class = self.torch.nn.Module
        self.loss_class = self.torch.nn.modules.loss._Loss
        call, here, compiling = module_class.__call__, self.marks.here, self.compiling
        quick = self.marks.quick
        begin, end = self.guarded(self.begin_forward), self.guarded(self.end_forward)

        def __call__(self, *args, **kwargs):
            if quick[0] == FORWARD or compiling() or here.mine.inner == FORWARD:
                return call(self, *args, **kwargs)
            mark = Mark(FORWARD, 0)
            result, failed = None, 1
            try:
                begin(mark, self, args, kwargs)
                result = call(self, *args, **kwargs)
                failed = 0
                return result
            finally:
                end(mark, result, failed)

        module_class.__call__ = adopt(__call__, call)
        __call__.__name__ = "__call__"  # by the name that leads to it, or it could not be pickled
        __call__.__qualname__ = module_class.__qualname__ + ".__call__"
        self.wrapper_made(__call__)
        self.library.shorten(__call__, call)
        self.tell_dynamo(call, module_class.__call__)

    def tell_dynamo(self, call, wrapper):
        """A compiler that was imported before us has the original as the one to trace past."""
        for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
            module = sys.modules.get(name)
            if getattr(module, "unpatched_nn_module_call", None) is call:
                module.unpatched_nn_module_call = wrapper

    # ---- backward ----

    def engine(self):
        variable = self.torch.autograd.Variable
        base = type(variable._execution_engine)
        run, here = base.run_backward, self.marks.here
        push, pop = self.guarded(self.begin_backward), self.guarded(self.marks.pop)
        tell = self.library.backward  # threads of the engine get the stack of the call

        class Engine(base):
            def run_backward(self, *args, **kwargs):
                nested = here.mine.inner == BACKWARD or here.mine.engine
                mark = None if nested else Mark(BACKWARD, 0)
                failed = 1
                try:
                    tell(1)
                    if mark is not None:
                        push(mark, args, kwargs)
                    result = run(self, *args, **kwargs)
                    failed = 0
                    return result
                finally:
                    tell(0)
                    if mark is not None:
                        pop(mark, 0, failed)

        self.wrapper_made(Engine.run_backward)
        self.engine_code = Engine.run_backward.__code__
        variable._execution_engine = Engine()

    def begin_backward(self, mark, args, kwargs):
        if self.tags.dtypes.left and args:
            self.see_graph(args[0])
        accumulates = bool(kwargs.get("accumulate_grad"))
        self.marks.push(mark, ACCUMULATE if accumulates else 0, "backward")

    # ---- zero_grad, the scaler ----

    def outermost(self, mark, name, owner):
        self.marks.settle()
        self.marks.identify(mark, owner)
        self.marks.push(mark, 0, name)

    def plain_method(self, owner, name, kind):
        """A method of a base class whose calls are marks, unless they come from one another."""
        original, here, compiling = getattr(owner, name), self.marks.here, self.compiling
        push, pop = self.guarded(self.outermost), self.guarded(self.marks.pop)

        def wrapper(self, *args, **kwargs):
            if compiling() or here.mine.inner == kind:
                return original(self, *args, **kwargs)
            mark = Mark(kind, 0)
            failed = 1
            try:
                push(mark, type(self).__name__, self)
                result = original(self, *args, **kwargs)
                failed = 0
                return result
            finally:
                pop(mark, 0, failed)

        setattr(owner, name, adopt(wrapper, original))
        self.wrapper_made(wrapper)

    # ---- the optimizers ----

    def begin_step(self, mark, optimizer):
        self.marks.settle()
        self.before_step(optimizer)
        self.marks.here.mine.stepping.add(id(optimizer))
        self.marks.identify(mark, optimizer)
        self.marks.push(mark, 0, type(optimizer).__name__)

    def end_step(self, mark, optimizer, failed, closure):
        self.marks.here.mine.stepping.discard(id(optimizer))
        self.marks.pop(mark, 0, failed)
        self.after_step(optimizer, closure)
        if self.trains is not None:
            self.trains, trains = None, self.trains
            trains()
        if self.stepped is not None:
            self.stepped()

    def wrap_step(self, owner):
        """The class attribute, once: torch has put its own layer on it before, and knows by the
        attributes that are copied that it did."""
        step = getattr(owner, "step", None)
        if not isinstance(step, types.FunctionType) or hasattr(step, "tidemark_original"):
            return
        here, compiling = self.marks.here, self.compiling
        begin, end = self.guarded(self.begin_step), self.guarded(self.end_step)

        def wrapper(self, *args, **kwargs):
            if compiling() or id(self) in here.mine.stepping:
                return step(self, *args, **kwargs)
            mark = Mark(OPTIMIZER, 0)
            failed = 1
            try:
                begin(mark, self)
                result = step(self, *args, **kwargs)
                failed = 0
                return result
            finally:
                end(mark, self, failed, bool(args or kwargs))

        owner.step = adopt(wrapper, step)
        self.wrapper_made(wrapper)

    def after(self, owner, name, then):
        """A method of Optimizer after which `then` gets the optimizer's class."""
        original = getattr(owner, name)
        then = self.guarded(then)

        def wrapper(self, *args, **kwargs):
            original(self, *args, **kwargs)
            then(type(self))

        setattr(owner, name, adopt(wrapper, original))

    def optimizers(self):
        base = self.torch.optim.Optimizer
        self.after(base, "__init__", self.wrap_step)
        self.after(base, "__setstate__", self.wrap_step)
        self.plain_method(base, "zero_grad", ZERO_GRAD)
        waiting = [base]
        while waiting:  # classes that were in use before us
            for owner in waiting.pop().__subclasses__():
                waiting.append(owner)
                if hasattr(owner.__dict__.get("step"), "hooked"):
                    self.wrap_step(owner)

    # ---- together ----

    def guarded(self, function):
        """Nothing that goes wrong in our work is the program's."""

        def run(*args):
            try:
                function(*args)
            except Exception:
                pass

        return run

    def unseen(self, function):
        """The same for a function that looks at tensors. A tracer would write down that we looked:
        while one is at work, nothing is done. A mode of the program, such as a default device or a
        counter of calls, is not shown our calls."""
        tracing, hidden = self.tracing, self.torch._C.DisableTorchFunction
        depth = getattr(self.torch._C, "_len_torch_function_stack", int)

        def run(*args):
            if tracing() is not None:
                return None
            try:
                with hidden():
                    return self.without_modes(function, args) if depth() else function(*args)
            except Exception:
                return None

        return run

    def single(self, torch):
        """Whether a plain tensor has one element: unseen, but nobody's function stands in the way of
        a plain tensor's method unless there is a mode."""
        tracing, unseen = self.tracing, self.unseen(lambda tensor: tensor.numel() == 1)
        depth = getattr(torch._C, "_len_torch_function_stack", None)
        if depth is None:
            return unseen

        def run(tensor):
            return unseen(tensor) if depth() or tracing() is not None else tensor.numel() == 1

        return run

    def without_modes(self, function, args):
        """hidden() takes the modes away from 2.0 on only."""
        low, modes = self.torch._C, []
        try:
            while low._len_torch_function_stack():
                modes.append(low._pop_torch_function_stack())
            return function(*args)
        finally:
            while modes:
                low._push_on_torch_function_stack(modes.pop())

    def find_modules(self):
        call = self.torch.nn.Module._call_impl.__code__
        forward = self.torch.nn.Linear.forward.__code__
        if not self.modules.begin(call, forward, self.engine_code):
            self.library.note(b"modules: they are not found in this interpreter's frames", 1)

    def forked(self):
        self.marks.clear()
        self.tags.clear()
        self.library.forked()

    def run(self):
        torch = self.torch
        self.module_call()
        self.engine()
        self.guarded(self.find_modules)()
        self.plain_method(torch.nn.Module, "zero_grad", ZERO_GRAD)
        self.optimizers()
        self.plain_method(scaler_class(torch), "step", SCALER)
        self.tags.buckets.install()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forked)


def scaler_class(torch):
    amp = getattr(torch, "amp", None)
    scaler = getattr(amp, "GradScaler", None)
    return scaler if scaler is not None else torch.cuda.amp.GradScaler


def stopped_early():
    """Checkpointing leaves a recomputed forward by an exception of its own once it has all that it
    wants; nothing went wrong then."""
    kind = sys.exc_info()[0]
    return kind is not None and kind.__name__ == "_StopRecomputationError"


def _never():
    return False
