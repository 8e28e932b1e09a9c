"""Which Python variables hold tensors as the program ends: for `tidemark leaks`.

One look, when training is over: at what module-level names refer to, and the local variables of an
exception that ended the program. No code of the program runs, but that of a metaclass which answers for
its classes' names: containers are followed, attributes by the instance's own dictionary. What functions
held that have returned is gone by then.

Each tensor becomes a mark, whose value is its address and whose name is

    held by|KIND@LINE|PATH|NODES

and the last one, `held by|`, says that the look is over; its value is 1 if it saw all,
0 if there was no time for it.
KIND is list, trimmed (a list that the source also shortens), bounded (a deque with maxlen), dict,
set, deque, lru_cache, attribute, variable (before these two `carried`: a step makes it of what the
step before put there, and `tuple`: it is in one), or optimizer, for its own state; PATH what a
programmer would write, LINE the one of its source that puts something there (_assigned.py), without
its @ where none is found; NODES how many operations the graph of autograd behind it has, 0 = it has
none, below 0 = a backward freed what it kept.
"""
import re
import sys
import time
import types
from collections import deque
from importlib.machinery import SourceFileLoader

from tidemark._assigned import Sources

BUDGET_S, WALL_S = 0.1, 1.0  # of its own; and whatever else the machine does meanwhile
OBJECTS, MARKS, NODES, FREED, DEPTH, TEXT = 200000, 4096, 4000, 32, 12, 100
LIBRARIES = ("site-packages", "dist-packages", "/lib/python3")
PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), type, types.ModuleType)
GETSET = types.GetSetDescriptorType
COLLECTIONS = ("list", "dict", "set", "deque", "bounded", "lru_cache", "optimizer")
NAMED = re.compile(r"(\['[^']*'\]|\.\w+)+$")  # `['outs']`, `['run'].outs`
PARTS = 8  # names of a dict that is a record
own_time = getattr(time, "thread_time", time.monotonic)


class Item(object):
    """Something reached, by whom; `source` is the file with the name that leads there, and whether that
    is a function's. `grows` is the path of the collection that it is in; a longer one in that, of more
    than `length` elements, may be the one that grows."""

    __slots__ = ("value", "path", "kind", "depth", "source", "grows", "length")

    def __init__(self, value, path, kind, depth, source, grows=None, length=sys.maxsize):
        self.value, self.path, self.kind, self.depth = value, path[:TEXT], kind, depth
        self.source, self.grows, self.length = source, grows, length


def is_programs(module):
    file = module.__dict__.get("__file__") if type(module) is types.ModuleType else None
    return isinstance(file, str) and not any(part in file for part in LIBRARIES)


def frames_of_exception():
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def file_of(module):
    """A script's `__file__` is gone when it is over, and what loaded it is not. A module may have code
    of the program's for names that it does not have: so they are looked up where they are."""
    file = vars(module).get("__file__")
    loader = vars(module).get("__loader__")
    if not isinstance(file, str) and type(loader) is SourceFileLoader:
        file = loader.path
    return file if isinstance(file, str) else ""


def programs_modules():
    return [(name, module) for name, module in list(sys.modules.items())
            if (name == "__main__" or is_programs(module)) and not name.startswith("tidemark")]


def roots():
    for frame in frames_of_exception():
        if not any(part in frame.f_code.co_filename for part in LIBRARIES):
            for name, value in dict(frame.f_locals).items():
                yield Item(value, str(name), "variable", 0, (frame.f_code.co_filename, True))
    for name, module in programs_modules():
        prefix = "" if name == "__main__" else name + "."
        source = (file_of(module), False)
        for key, value in list(vars(module).items()):
            if not key.startswith("__"):
                yield Item(value, prefix + key, "variable", 0, source)


def instance_dict(value):
    """The object's own, if nothing of its class stands in front of it."""
    for kind in type(value).__mro__:
        found = kind.__dict__.get("__dict__")
        if found is not None:
            if type(found) is not types.GetSetDescriptorType:
                return None
            return found.__get__(value)
    return None


def inside(item):
    """What it refers to: (value, what is written behind its path, kind)."""
    value, kind = item.value, type(item.value)
    if is_a(value, dict):
        return [(v, "[%.40r]" % (k,) if type(k) in (str, int) else "[...]", "dict")
                for k, v in list(dict.items(value))]
    length = deque.maxlen.__get__(value) if is_a(value, deque) else None
    queue = "deque" if length is None else "bounded"
    for base, name in ((list, "list"), (deque, queue), (set, "set"), (tuple, None)):
        if is_a(value, base):
            return [(one, "[]", name or item.kind) for one in list(base.__iter__(value))]
    if kind.__name__ == "_lru_cache_wrapper":
        import gc

        return [(one, "", "lru_cache") for one in gc.get_referents(value)]
    if kind is types.MethodType:
        return [(value.__self__, ".__self__", "attribute")]
    if kind is types.FunctionType:
        return closure(value)
    return attributes(value)


def closure(function):
    names = function.__code__.co_freevars
    found = []
    for name, cell in zip(names, function.__closure__ or ()):
        try:
            found.append((cell.cell_contents, "." + name, "variable"))
        except ValueError:
            pass  # it is empty
    return found


def attributes(value):
    own = instance_dict(value)
    if type(own) is not dict:
        return []
    return [(v, "." + str(k), "attribute") for k, v in list(own.items())
            if k not in ("_parameters", "_buffers")]


def sees_what_is_kept(torch):
    autograd = getattr(getattr(torch, "_C", None), "_autograd", None)
    return hasattr(getattr(autograd, "SavedTensor", None), "data")


def saved_names(kind):
    return [name for base in kind.__mro__ for name, member in base.__dict__.items()
            if name.startswith("_raw_saved_") and type(member) is GETSET]


def keeps(node, names):
    """Whether it keeps a tensor for backward; None: it never had one, or that cannot be seen. Nothing is
    unpacked, so no hook of the program's runs. `names`: the attributes of each type of node."""
    kind = type(node)
    if kind not in names:
        names[kind] = saved_names(kind)
    known = None
    for name in names[kind]:
        try:
            saved = getattr(node, name)
        except RuntimeError:  # gone, after a backward
            known = known or False
            continue
        for one in saved if is_a(saved, (tuple, list)) else (saved,):
            known = known or one.data is not None
    return known


def nodes_of(tensor, names):
    """Of the graph behind it, up to NODES; below 0 if a backward freed what it kept, as far as was looked:
    leaves, and what a Function has beside, it may hold for all that. `names`: None where PyTorch does
    not let us see it."""
    first = tensor.grad_fn
    seen, waiting, freed, kept = {first}, deque([first]), 0, names is None
    while waiting and len(seen) < NODES:
        node = waiting.popleft()
        if not kept and freed < FREED:
            known = keeps(node, names)
            kept, freed = bool(known), freed + (known is False)
        for behind, _ in node.next_functions:
            if behind is not None and behind not in seen:
                seen.add(behind)
                waiting.append(behind)
    return len(seen) if kept or not freed else -len(seen)


def outer(path):
    """`pair` of `pair[].outs`."""
    cut = path.find("[")
    return path[:cut] if cut > 0 else path


def is_a(value, bases):
    """By its type alone: `isinstance` reads `__class__`, which may be code of the program's."""
    return issubclass(type(value), bases)


def length_of(value):
    for base in (dict, list, deque, set):
        if is_a(value, base):
            return base.__len__(value)
    return 0


def parts_of(value):
    """How many elements a dict has that is a record: of few names, most of which are no series as
    `step1`, `step2`. As many as can be: it is no record, and grows itself."""
    if not is_a(value, dict) or not 0 < dict.__len__(value) <= PARTS:
        return sys.maxsize
    keys = list(dict.keys(value))
    if not all(type(key) is str for key in keys):
        return sys.maxsize
    names = set(re.sub(r"\d+", "0", key) for key in keys)
    return len(keys) if 2 * len(names) > len(keys) else sys.maxsize


def grows_in(item, kind):
    """`metrics['outs']` grows and not `metrics`, if that is a record and has fewer names than there are
    outs. What a module keeps of its own is not meant."""
    behind = item.path[len(item.grows):]
    longer = kind == "lru_cache" or length_of(item.value) > item.length
    return (item.kind == "dict" and kind in COLLECTIONS and item.length < sys.maxsize and longer and
            len(item.path) < TEXT and NAMED.match(behind) is not None and "._" not in behind)


def held_in(item, value, more, kind):
    """What `item` refers to: the outermost collection is the one that grows, but for records."""
    grows, length = item.grows, item.length
    if item.kind == "optimizer" or (grows and not grows_in(item, kind) and kind != "optimizer"):
        kind = item.kind
    elif kind in COLLECTIONS and kind != "optimizer":
        grows, length = item.path if grows else outer(item.path), parts_of(item.value)
    return Item(value, item.path + more, kind, item.depth + 1, item.source, grows, length)


class Search(object):
    def __init__(self, torch, library, began):
        self.began = began
        self.tensor, self.parameter = torch.Tensor, torch.nn.Parameter
        self.optimizer = torch.optim.Optimizer
        self.names = {} if sees_what_is_kept(torch) else None
        self.library = library
        self.end, self.wall_end = own_time() + BUDGET_S, time.monotonic() + WALL_S
        self.seen = set()
        self.found = []

    def is_over(self):
        return (len(self.seen) >= OBJECTS or own_time() > self.end or
                time.monotonic() > self.wall_end)

    def see(self, item, waiting):
        value = item.value
        if is_a(value, self.tensor):
            if not is_a(value, self.parameter):
                self.found.append(item)
            return
        if item.depth >= DEPTH or is_a(value, PLAIN):
            return
        optimizes = is_a(value, self.optimizer)
        for one, more, kind in inside(item):
            if id(one) in self.seen or type(one) in PLAIN:
                continue
            self.seen.add(id(one))
            if optimizes and more == ".state":
                kind = "optimizer"  # whatever list it is in
            waiting.append(held_in(item, one, more, kind))

    def run(self):
        waiting = deque(roots())
        while waiting and not self.is_over():
            self.see(waiting.popleft(), waiting)
        marks = [mark for mark in map(self.mark, self.found[:MARKS]) if mark is not None]
        sources = Sources([file_of(module) for _, module in programs_modules()], self.began)
        for item, path, nodes, address in marks:  # lines have a time of their own, behind all graphs
            line = sources.where(item.source[0], path, item.source[1])
            kind = self.kind_of(item, path, sources)
            name = "held by|%s%s|%s|%d" % (kind, "@" + line if line else "", path, nodes)
            self.library.held(self.library.name(name), address)
        self.library.held(self.library.name("held by|"), not waiting)

    def kind_of(self, item, path, sources):
        """As the sources have it."""
        if item.kind == "list" and sources.shortens(item.source[0], path):
            return "trimmed"
        if item.kind not in ("variable", "attribute"):
            return item.kind
        carried = "carried " if sources.carries(item.source[0], path) else ""
        return carried + ("tuple " if item.path.endswith("[]") else "") + item.kind

    def mark(self, item):
        """None: it has no memory."""
        from tidemark._lists import memory_of

        tensor = memory_of(item.value)
        address = tensor.data_ptr() if tensor.layout is not None else 0
        if not address:
            return None
        graph = tensor.grad_fn is not None and not self.is_over()
        return item, item.grows or outer(item.path), nodes_of(tensor, self.names) if graph else 0, address


def look(torch, library, began):
    try:
        Search(torch, library, began).run()
    except Exception:
        pass
