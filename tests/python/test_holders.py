"""The look at what a program holds as it ends: on a machine that is busy, and of a program that is large."""
import functools
import types
from collections import deque
import unittest
from unittest import mock

import support

from tidemark import _holders


class Tensor(object):
    """As much of one as the look asks for."""

    layout, grad_fn = "strided", None

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


class Saved(object):
    def __init__(self, data):
        self.data = data


class Node(object):
    """Of a graph: what it kept, None if that was freed, or the error that says so."""

    def __init__(self, kept, behind=None):
        self.kept = kept
        self.next_functions = ((behind, 0),)

    @property
    def _raw_saved_self(self):
        if isinstance(self.kept, RuntimeError):
            raise self.kept
        return Saved(self.kept)


class Parameter(Tensor):
    pass


class Library(object):
    """Keeps marks."""

    def __init__(self):
        self.marks = []

    def name(self, text):
        return text

    def held(self, name, value):
        self.marks.append((name, int(value)))


class Optimizer(object):
    def __init__(self, state):
        self.state = state


class Run(object):
    def __init__(self, outs):
        self.outs = outs


TORCH = types.SimpleNamespace(Tensor=Tensor, nn=types.SimpleNamespace(Parameter=Parameter),
                              optim=types.SimpleNamespace(Optimizer=Optimizer))
TORCH_SEES = types.SimpleNamespace(_C=types.SimpleNamespace(
    _autograd=types.SimpleNamespace(SavedTensor=types.SimpleNamespace(data=None))), **vars(TORCH))


def look(torch=TORCH, **names):
    """The marks of a program that has these names in its module."""
    library = Library()
    module = types.ModuleType("held")
    vars(module).update(names, __file__="/tmp/no-such-program.py")
    with mock.patch.object(_holders, "programs_modules", lambda: [("held", module)]), \
            mock.patch.object(_holders, "GETSET", property):
        _holders.look(torch, library, 0)
    return library.marks


class Look(unittest.TestCase):
    def test_names_of_a_module(self):
        marks = look(kept=[Tensor(16), Tensor(32)], total=Tensor(64), weight=Parameter(128))
        self.assertEqual(marks, [("held by|variable|held.total|0", 64), ("held by|list|held.kept|0", 16),
                                 ("held by|list|held.kept|0", 32), ("held by|", 1)])

    def test_state_of_optimizers_is_their_own(self):
        state = {1: {"exp_avg": Tensor(16)}}
        marks = look(opt=Optimizer(state), all=[Optimizer({2: {"exp_avg": Tensor(32)}})],
                     kept={"state": {"a": Tensor(64)}})
        self.assertEqual(sorted(mark for mark, _ in marks[:-1]),
                         ["held by|dict|held.kept|0", "held by|optimizer|held.all|0",
                          "held by|optimizer|held.opt.state|0"])

    def test_a_deque_with_a_bound(self):
        marks = look(queue=deque([Tensor(16)], maxlen=8), kept=deque([Tensor(32)]))
        self.assertEqual(sorted(mark for mark, _ in marks[:-1]),
                         ["held by|bounded|held.queue|0", "held by|deque|held.kept|0"])

    def test_a_dict_of_a_few_parts_is_not_what_grows(self):
        def kept(count):
            return [Tensor(16 * (1 + i)) for i in range(count)]

        def holder(value):
            return set(mark for mark, _ in look(d=value)[:-1])

        self.assertEqual(holder({"outs": kept(9)}), {"held by|list|held.d['outs']|0"})
        self.assertEqual(holder({"outs": kept(9), "loss": deque(kept(9))}),
                         {"held by|list|held.d['outs']|0", "held by|deque|held.d['loss']|0"})
        self.assertEqual(holder({"layer1.fc": kept(9)}), {"held by|list|held.d['layer1.fc']|0"})
        self.assertEqual(holder({"val/loss": kept(9), "top1": kept(9), "top5": kept(9)}),
                         {"held by|list|held.d['val/loss']|0", "held by|list|held.d['top1']|0",
                          "held by|list|held.d['top5']|0"})
        run = Run(kept(9))
        self.assertEqual(holder({"run": run}), {"held by|list|held.d['run'].outs|0"})
        self.assertEqual(holder({"run": {"outs": kept(9)}}), {"held by|list|held.d['run']['outs']|0"})

    def test_what_is_in_a_dict_and_is_no_collection_that_grows(self):
        for value in ({"pair": (Tensor(16), Tensor(32))}, {"pair": ([Tensor(16)], [Tensor(32)])}):
            marks = [mark for mark, _ in look(d=value)[:-1]]
            self.assertEqual(set(marks), {"held by|dict|held.d|0"})

        @functools.lru_cache(maxsize=None)
        def mask(size):
            return Tensor(size)

        mask(16), mask(32), mask(64)
        self.assertEqual(set(mark for mark, _ in look(d={"enc": mask})[:-1]),
                         {"held by|lru_cache|held.d['enc']|0"})

        class Net(object):
            def __init__(self, inner):
                self._modules = {"mlp": inner, "head": 1}

        outs = set(mark for mark, _ in look(d={"model": Net(Net(Run([Tensor(16)] * 9)))})[:-1])
        self.assertEqual(outs, {"held by|dict|held.d|0"})

    def test_a_dict_that_steps_fill_is_what_grows(self):
        for value in ({"step1": [Tensor(16)], "step2": [Tensor(32)]}, {1: [Tensor(16), Tensor(32)]},
                      {"a": [Tensor(16)], "b": [Tensor(32)]}, {"a": Tensor(16), "b": Tensor(32)}):
            marks = [mark for mark, _ in look(d=value)[:-1]]
            self.assertEqual(marks, ["held by|dict|held.d|0"] * 2)
        words = {"word" + chr(97 + i): [Tensor(16), Tensor(32)] * 20 for i in range(26)}
        self.assertEqual(set(mark for mark, _ in look(d=words)[:-1]), {"held by|dict|held.d|0"})
        long = {"a" * 60: [Tensor(16), Tensor(32)]}
        self.assertEqual(set(mark for mark, _ in look(d=long)[:-1]), {"held by|dict|held.d|0"})
        marks = look(history=[{"outs": [Tensor(16), Tensor(32)]}])
        self.assertEqual([mark for mark, _ in marks[:-1]], ["held by|list|held.history|0"] * 2)

    def test_a_graph_that_a_backward_freed(self):
        done, alive = Tensor(16), Tensor(32)
        done.grad_fn = Node(None, Node(None))
        alive.grad_fn = Node(None, Node(Tensor(64)))
        alive.grad_fn.next_functions += ((Node(RuntimeError()), 0), (None, 0))
        marks = look(TORCH_SEES, done=done, alive=alive)
        self.assertEqual(marks[:2], [("held by|variable|held.done|-2", 16),
                                     ("held by|variable|held.alive|3", 32)])
        self.assertEqual(look(done=done)[0][0], "held by|variable|held.done|2")

    def test_a_long_graph_is_not_looked_at_to_its_end(self):
        def chain(length):
            node, tensor = Node(Tensor(64)), Tensor(16)
            for _ in range(length):
                node = Node(None, node)
            tensor.grad_fn = node
            return look(TORCH_SEES, done=tensor)[0][0]

        self.assertEqual(chain(_holders.FREED - 1), "held by|variable|held.done|32")
        self.assertEqual(chain(_holders.FREED), "held by|variable|held.done|-33")

    def test_no_class_of_the_program_is_asked(self):
        class Odd(object):
            asked = []

            @property
            def __class__(self):
                Odd.asked.append(1)
                return dict

        look(odd=Odd(), kept=[Odd()])
        self.assertEqual(Odd.asked, [])

    def test_time_of_others_is_not_its_own(self):
        wall = iter(range(10000))
        with mock.patch.object(_holders.time, "monotonic", lambda: next(wall) * 0.05):
            marks = look(one=1, two=2, three=3, total=Tensor(64))
        self.assertEqual(marks, [("held by|variable|held.total|0", 64), ("held by|", 1)])

    def test_it_ends_on_a_machine_that_does_nothing_for_it(self):
        wall = iter(range(10000))
        with mock.patch.object(_holders.time, "monotonic", lambda: next(wall) * 0.05):
            marks = look(kept=[[number] for number in range(300)], total=Tensor(64))
        self.assertEqual(marks[-1], ("held by|", 0))

    def test_its_own_time_has_an_end(self):
        own = iter(range(10000))
        with mock.patch.object(_holders, "own_time", lambda: next(own) * 0.01):
            marks = look(kept=[[number] for number in range(300)])
        self.assertEqual(marks, [("held by|", 0)])


if __name__ == "__main__":
    support.main()
