"""What memory is for, by address: parameters, gradients, optimizer states, buffers, inputs.

A list is a row of places; each place holds (address, bytes, heap, category, name) and is sent when
it changed. The recorder applies a list to the blocks that are live at the moment when it gets word
that the list holds: at the steps of an optimizer, and at the first forward after one. That is needed
even where nothing changed, for an unchanged address is not the same block.

The usual case, nothing changed, is decided by one list of addresses compared with the last one.
No reference to a tensor is kept: a gradient with an owner more would be accumulated another way.
"""
import weakref
from array import array

from tidemark._buckets import Buckets
from tidemark._dtypes import Dtypes
from tidemark._lists import (
    ADDRESS, CATEGORY, CELLS, GRADIENT, INPUT, OTHER, PARAMETER, STATE, List, Table, memory_of,
    place_of
)
from tidemark._names import Names, named_tensors

INPUT_DEPTH, INPUT_WIDTH = 3, 64
WALK_STEPS = 64  # a module is walked again after so many steps, or when a tensor of it is gone

class Optimizer(object):
    """The lists of one optimizer."""

    __slots__ = ("parameters", "gradients", "state", "deep")

    def __init__(self, new_list):
        self.parameters = new_list()
        self.gradients = new_list()
        self.state = new_list()
        self.deep = False  # its state has lists or dictionaries in it


class Module(object):
    """The list of a module that was called from outside: parameters and buffers."""

    __slots__ = ("list", "steps", "walked", "references")

    def __init__(self, new_list):
        self.list = new_list()
        self.steps = -1  # the number of optimizer steps at its last visit
        self.walked = 0  # at its last walk
        self.references = []

    def tensors(self, module, steps, names):
        """A walk takes as long as a forward of a small model: seldom."""
        found = [reference() for reference in self.references]
        if self.steps >= 0 and steps - self.walked < WALK_STEPS:
            if not [tensor for tensor in found if tensor is None]:
                return found
        pairs = named_tensors(module)
        names.learn(module, pairs)
        self.walked = steps
        self.references = [weakref.ref(tensor) for name, tensor in pairs]
        return [tensor for name, tensor in pairs]


class Tags(object):
    def __init__(self, torch, library):
        self.torch = torch
        self.library = library
        self.tensor = torch.Tensor
        self.parameter = torch.nn.Parameter
        self.names = Names()
        self.buckets = Buckets(torch, library)
        self.dtypes = Dtypes(library)
        self.steps = 0
        self.clear()

    def clear(self):
        """In a forked child the recorder knows no list of ours."""
        self.free = []
        free = self.free
        self.optimizers = Table(lambda r: free.extend([r.parameters, r.gradients, r.state]))
        self.modules = Table(lambda record: free.append(record.list))
        self.buckets.clear()
        self.dtypes.clear()
        self.given = Table(free.append)

    def new_list(self):
        if not self.free:
            return List(self.library)
        used = self.free.pop()
        used.key = None
        return used

    def kept(self, table, owner, make):
        found = table.get(owner)
        return found if found is not None else table.put(owner, make(self.new_list))

    def place(self, tensor, category, name):
        return place_of(self.library, tensor) + (category, self.library.name(name) if name else 0)

    # ---- modules ----

    def called(self, module, parameters, args, kwargs, grad):
        """An outermost call. Of those without gradients an evaluation between steps has a batch, too;
        a program that generates makes a call for each token, and what it passes is no batch."""
        if parameters:
            self.module_called(module)
        if grad or (parameters and self.steps and not getattr(module, "training", True)):
            self.inputs(module, args, kwargs)

    def module_called(self, module):
        record = self.kept(self.modules, module, Module)
        if record.steps == self.steps:
            return
        tensors = record.tensors(module, self.steps, self.names)
        record.steps = self.steps
        record.list.hold(addresses(tensors), lambda: self.describe_module(tensors))

    def describe_module(self, tensors):
        kinds = [PARAMETER if isinstance(t, self.parameter) else OTHER for t in tensors]
        self.dtypes.of_parameters([t for t, kind in zip(tensors, kinds) if kind == PARAMETER])
        return [self.place(t, kind, self.names.of(t)) for t, kind in zip(tensors, kinds)]

    def inputs(self, module, args, kwargs):
        found = []
        for i, value in enumerate(args):
            self.gather_inputs(found, i, value, 1)
        for name, value in kwargs.items():
            self.gather_inputs(found, name, value, 1)
        if found:
            key = [(tensor.data_ptr(), name) for name, tensor in found]
            given = self.given.get(module)
            if given is None:
                given = self.given.put(module, self.new_list())
            given.hold(key, lambda: self.describe_inputs(found))

    def gather_inputs(self, found, name, value, depth):
        kind = type(value)
        if kind is self.tensor or isinstance(value, self.tensor):
            if value.grad_fn is None and kind is not self.parameter:
                found.append((name, value))
        elif depth < INPUT_DEPTH and isinstance(value, (tuple, list)):
            for one in value[:INPUT_WIDTH]:
                self.gather_inputs(found, name, one, depth + 1)
        elif depth < INPUT_DEPTH and isinstance(value, dict):
            for one in list(value.values())[:INPUT_WIDTH]:
                self.gather_inputs(found, name, one, depth + 1)

    def describe_inputs(self, found):
        return [self.place(tensor, INPUT, "input %s" % name) for name, tensor in found]

    # ---- optimizers ----

    def before_step(self, optimizer):
        record = self.kept(self.optimizers, optimizer, Optimizer)
        parameters = parameters_of(optimizer)
        key = [self.names.version] + addresses(parameters)
        record.parameters.hold(key, lambda: self.describe_parameters(parameters))
        self.hold_gradients(record, parameters)

    def hold_gradients(self, record, parameters):
        gradients = [parameter.grad for parameter in parameters]
        key = [self.names.version] + addresses(gradients)
        record.gradients.hold(
            key, lambda: self.describe_gradients(record, key[1:], parameters, gradients)
        )
        self.buckets.hold()

    def describe_parameters(self, parameters):
        self.dtypes.of_parameters(parameters)
        return [self.place(tensor, PARAMETER, self.names.of(tensor)) for tensor in parameters]

    def describe_gradients(self, record, found, parameters, gradients):
        """A dense gradient is as large as its parameter and has its name: that is the usual case,
        where all of them are new in each step."""
        count = len(found)
        if len(record.parameters.sent) == CELLS * count and tuple not in map(type, found):
            cells = array("Q", record.parameters.sent)
            cells[ADDRESS::CELLS] = array("Q", found)
            cells[CATEGORY::CELLS] = array("Q", [GRADIENT]) * count
            return cells
        places = []
        for parameter, gradient in zip(parameters, gradients):
            name = self.names.of(parameter)
            for tensor in pieces(gradient):
                places.append(self.place(tensor, GRADIENT, name))
        return places

    def after_step(self, optimizer, closure):
        """A closure has made gradients that were not there before."""
        self.steps += 1
        record = self.kept(self.optimizers, optimizer, Optimizer)
        parameters = parameters_of(optimizer)
        get = optimizer.state.get
        states = [get(parameter) for parameter in parameters]
        if closure:
            self.hold_gradients(record, parameters)
        if record.deep:
            key = self.deep_addresses(states)
        else:
            tensor = self.tensor
            key = [self.names.version]
            key += addresses([
                value
                for state in states
                if state
                for value in state.values()
                if type(value) is tensor or isinstance(value, tensor)
            ])
        record.state.hold(key, lambda: self.describe_states(record, parameters, states))

    def deep_addresses(self, states):
        found = []
        for state in states:
            if state:
                gather_states(self.tensor, found, "", state, 0)
        return [self.names.version] + [place_of(self.library, tensor)[0] for key, tensor in found]

    def describe_states(self, record, parameters, states):
        places = []
        for parameter, state in zip(parameters, states):
            found = []
            if state:
                record.deep |= gather_states(self.tensor, found, "", state, 0)
            name = self.names.of(parameter)
            for key, tensor in found:
                places.append(self.place(tensor, STATE, "%s of %s" % (key, name) if name else key))
        return places

def parameters_of(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def addresses(tensors):
    try:
        found = [0 if tensor is None else tensor.data_ptr() for tensor in tensors]
        if 0 in found:
            found = [one or (0 if tensor is None else memory_of(tensor).data_ptr())
                     for one, tensor in zip(found, tensors)]
        return found
    except Exception:
        return [piece_addresses(tensor) for tensor in tensors]


def piece_addresses(tensor):
    try:
        return tuple(piece.data_ptr() for piece in pieces(tensor))
    except Exception:
        return ()


def pieces(tensor):
    """A sparse tensor has no memory of its own but that of its indices and values."""
    if tensor is None:
        return []
    return [tensor._indices(), tensor._values()] if tensor.is_sparse else [tensor]


def gather_states(kind, found, name, value, depth):
    """Tensors in an optimizer's state, two levels deep; True if any is not on the first."""
    if isinstance(value, kind):
        found.append((name, value))
        return depth > 1
    deep = False
    if depth <= 2 and isinstance(value, dict):
        for key, one in value.items():
            deep |= gather_states(kind, found, "%s.%s" % (name, key) if name else str(key), one,
                                  depth + 1)
    elif depth <= 2 and isinstance(value, (list, tuple)):
        for one in value:
            deep |= gather_states(kind, found, name, one, depth + 1)
        return True
    return deep
