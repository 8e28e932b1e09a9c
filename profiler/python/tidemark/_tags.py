"""What memory is for, by address: parameters, gradients, optimizer states, buffers, buckets, inputs.

A list is a row of places; each place holds (address, bytes, heap, category, name) and is sent when
it changed. The recorder applies a list to the blocks that live at the moment when it is told that
the list holds: at the steps of an optimizer, and at the first forward after one. That is needed
even where nothing changed, for an unchanged address is not the same block.

The usual case, nothing changed, is decided by one list of addresses compared with the last one.
No reference to a tensor is kept: a gradient with an owner more would be accumulated another way.
"""
import weakref

PARAMETER, GRADIENT, STATE, INPUT, BUCKET, OTHER = 1, 2, 3, 5, 6, 8

DEVICE_KINDS = {"cpu": 0, "cuda": 1}
NOTHING = (0, 0, 0, OTHER, 0)
INPUT_DEPTH, INPUT_WIDTH = 3, 64


def heap_of(library, device, cache={}):
    heap = cache.get(device)
    if heap is None:
        kind = DEVICE_KINDS.get(device.type, 3)
        index = 0 if kind == 0 else -1 if device.index is None else device.index
        heap = cache[device] = library.heap(kind, index)
    return heap


def place_of(library, tensor):
    """(address, bytes, heap); zeroes for what has no memory of its own."""
    try:
        address = tensor.data_ptr()
        size = tensor.numel() * tensor.element_size()
        return (address, size, heap_of(library, tensor.device)) if address else (0, 0, 0)
    except Exception:
        return (0, 0, 0)


class Table(object):
    """Values for objects, which are forgotten with them. By identity: an object's own idea of what
    is equal is not asked for. `gone` is called with the value of an object that died."""

    def __init__(self, gone=None):
        self.entries = {}  # id -> (weak reference, value)
        self.gone = gone

    def get(self, owner):
        entry = self.entries.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def put(self, owner, value):
        key, entries, gone = id(owner), self.entries, self.gone

        def forget(reference):
            entry = entries.get(key)
            if entry is not None and entry[0] is reference:
                del entries[key]
                if gone is not None:
                    gone(entry[1])

        entries[key] = (weakref.ref(owner, forget), value)
        return value


class List(object):
    """One list of the recording. `sent` is what the recorder has at each place; a list whose owner
    died is used again, with what it has."""

    __slots__ = ("library", "number", "key", "sent")
    count = 0

    def __init__(self, library):
        List.count += 1
        self.library = library
        self.number = List.count
        self.key = None
        self.sent = []

    def hold(self, key, describe):
        """`key` changes whenever describe() would give something else."""
        if key != self.key:
            self.send(describe())
            self.key = key
        if self.sent:
            self.library.hold(self.number)

    def send(self, places):
        places = places + [NOTHING] * (len(self.sent) - len(places))
        for i, place in enumerate(places):
            if i < len(self.sent) and self.sent[i] == place:
                continue
            address, size, heap, category, name = place
            self.library.tag(self.number << 32 | i + 1, address, size, heap, category, name)
        self.sent = places


class Names(object):
    """Names of parameters and buffers, from every module that was called. `version` counts what
    became known."""

    def __init__(self):
        self.names = Table()
        self.modules = Table()  # those that were walked: True
        self.taken = {}  # name -> weak reference
        self.count = 0
        self.version = 0

    def of(self, tensor):
        return self.names.get(tensor) or ""

    def learn(self, module):
        if self.modules.get(module):
            return
        self.modules.put(module, True)
        self.count += 1
        pairs = [pair for pair in named_tensors(module) if not self.of(pair[1])]
        prefix = ""
        if any(self.is_taken(name, tensor) for name, tensor in pairs):
            prefix = "%s#%d." % (type(module).__name__, self.count)
        for name, tensor in pairs:
            self.names.put(tensor, prefix + name)
            self.taken[prefix + name] = weakref.ref(tensor)
        self.version += bool(pairs)

    def is_taken(self, name, tensor):
        owner = self.taken.get(name)
        owner = owner() if owner is not None else None
        return owner is not None and owner is not tensor


def unwrapped(module):
    """The program's own module inside DataParallel, DistributedDataParallel and torch.compile."""
    while True:
        children = module._modules
        if "_orig_mod" in children:
            module = children["_orig_mod"]
        elif type(module).__name__ in ("DataParallel", "DistributedDataParallel"):
            module = children["module"]
        else:
            return module


def named_tensors(module):
    module = unwrapped(module)
    return list(module.named_parameters()) + list(module.named_buffers())


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

    __slots__ = ("list", "steps")

    def __init__(self, new_list):
        self.list = new_list()
        self.steps = -1  # the number of optimizer steps at its last visit


class Tags(object):
    def __init__(self, torch, library):
        self.torch = torch
        self.library = library
        self.tensor = torch.Tensor
        self.parameter = torch.nn.Parameter
        self.names = Names()
        self.steps = 0
        self.clear()

    def clear(self):
        """In a forked child the recorder knows no list of ours."""
        self.free = []
        free = self.free
        self.optimizers = Table(lambda r: free.extend([r.parameters, r.gradients, r.state]))
        self.modules = Table(lambda record: free.append(record.list))
        self.buckets = {}  # id of a reducer -> List
        self.given = List(self.library)

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

    def called(self, module, args, kwargs, grad):
        """An outermost call; module is None when it has no parameters."""
        if module is not None:
            self.module_called(module)
        if grad:
            self.inputs(args, kwargs)

    def module_called(self, module):
        self.names.learn(module)
        record = self.kept(self.modules, module, Module)
        if record.steps == self.steps:
            return
        record.steps = self.steps
        tensors = [tensor for name, tensor in named_tensors(module)]
        record.list.hold(addresses(tensors), lambda: self.describe_module(tensors))

    def describe_module(self, tensors):
        kinds = [PARAMETER if isinstance(t, self.parameter) else OTHER for t in tensors]
        return [self.place(t, kind, self.names.of(t)) for t, kind in zip(tensors, kinds)]

    def inputs(self, args, kwargs):
        found = []
        for i, value in enumerate(args):
            self.gather_inputs(found, i, value, 1)
        for name, value in kwargs.items():
            self.gather_inputs(found, name, value, 1)
        if found:
            key = [(tensor.data_ptr(), name) for name, tensor in found]
            self.given.hold(key, lambda: self.describe_inputs(found))

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
        record.parameters.hold(key, lambda: self.describe(parameters, PARAMETER))
        self.hold_gradients(record, parameters)

    def hold_gradients(self, record, parameters):
        gradients = [parameter.grad for parameter in parameters]
        key = [self.names.version] + addresses(gradients)
        record.gradients.hold(key, lambda: self.describe_gradients(parameters, gradients))
        for buckets in self.buckets.values():
            self.library.hold(buckets.number)

    def describe(self, tensors, category):
        return [self.place(tensor, category, self.names.of(tensor)) for tensor in tensors]

    def describe_gradients(self, parameters, gradients):
        places = []
        for parameter, gradient in zip(parameters, gradients):
            name = self.names.of(parameter)
            if gradient is None:
                places.append(NOTHING)
                continue
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
            key = [address for address in self.deep_addresses(states)]
        else:
            tensor = self.tensor
            key = [self.names.version]
            key += [
                value.data_ptr()
                for state in states
                if state
                for value in state.values()
                if type(value) is tensor
            ]
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

    # ---- the buckets of DistributedDataParallel ----

    def install(self):
        distributed = self.torch.distributed
        if not distributed.is_available():
            return
        reducer = distributed.Reducer
        parallel = self.torch.nn.parallel.DistributedDataParallel
        build, rebuild, tags = parallel._ddp_init_helper, reducer._rebuild_buckets, self

        def _ddp_init_helper(self, *args, **kwargs):
            with Watch(tags) as watch:
                result = build(self, *args, **kwargs)
            watch.found(self.reducer, args[0] if args else kwargs.get("parameters"))
            return result

        def _rebuild_buckets(self):
            with Watch(tags) as watch:
                done = rebuild(self)
            if done:
                watch.found(self, None)
            return done

        parallel._ddp_init_helper = _ddp_init_helper
        reducer._rebuild_buckets = _rebuild_buckets

    def found_buckets(self, reducer, blocks, device):
        buckets = self.buckets.get(id(reducer))
        if buckets is None:
            buckets = self.buckets[id(reducer)] = self.new_list()
        places = [
            (address, size, device, BUCKET, self.library.name("bucket %d" % i))
            for i, (address, size) in enumerate(blocks)
        ]
        buckets.hold(places, lambda: places)


class Watch(object):
    """The blocks that the C++ of a reducer makes and keeps while the watch is on."""

    reducers = {}  # id of a reducer -> (heap, number of its parameters, their bytes)

    def __init__(self, tags):
        self.tags = tags
        self.blocks = []

    def __enter__(self):
        self.on = self.tags.library.watch()
        return self

    def __exit__(self, *exception):
        if self.on:
            self.blocks = self.tags.library.watched()
        return False

    def found(self, reducer, parameters):
        try:
            if parameters:
                size = sum(p.numel() * p.element_size() for p in parameters)
                heap = heap_of(self.tags.library, parameters[0].device)
                self.reducers[id(reducer)] = (heap, len(parameters), size)
            heap, count, size = self.reducers.get(id(reducer), (0, 0, 0))
            blocks = buckets_of(self.blocks, count, size)
            if heap and blocks:
                self.tags.found_buckets(reducer, blocks, heap)
        except Exception:
            pass


def buckets_of(blocks, count, size):
    """Without what a reducer keeps or sends besides: a few integers for each parameter. Those are
    the small ones without which the rest still has room for all gradients."""
    left = list(blocks)
    for block in sorted(blocks, key=lambda block: block[1]):
        if block[1] <= 8 * count + 512 and sum(one[1] for one in left) - block[1] >= size:
            left.remove(block)
    return left


def parameters_of(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def addresses(tensors):
    try:
        return [0 if tensor is None else tensor.data_ptr() for tensor in tensors]
    except Exception:
        return [piece_addresses(tensor) for tensor in tensors]


def piece_addresses(tensor):
    if tensor is None:
        return 0
    try:
        return tuple(piece.data_ptr() for piece in pieces(tensor))
    except Exception:
        return 0


def pieces(tensor):
    """A sparse tensor has no memory of its own but that of its indices and values."""
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
