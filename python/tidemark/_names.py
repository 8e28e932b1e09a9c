"""Names of parameters and buffers, learnt from the modules that are called."""
import weakref

from tidemark._lists import Table


WRAPPED = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
WRAPPERS = ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "DeepSpeedEngine")
MOST_NAMES = 100000


class Names(object):
    """Names of parameters and buffers, from every module that was called. `version` counts what
    became known. A name is free again when its owner is gone: programs that copy their model over and
    over, and let the copies go, have few names in all. Of others MOST_NAMES are reported, and no more:
    each stays in the memory of the recording."""

    def __init__(self):
        self.names = Table()
        self.taken = {}  # name -> weak reference
        self.version = 0
        self.prefixes = Table()  # of a root, where _modules.py chose one
        self.told = set()  # names of parameters, and with a space before them, of modules
        self.full = None  # called once, when there were too many

    def of(self, tensor):
        return self.names.get(tensor) or ""

    def learn(self, module, pairs):
        """The pairs of name and tensor that were found in a module."""
        pairs = [pair for pair in pairs if not self.of(pair[1])]
        if not pairs:
            return
        self.version += 1
        prefix = self.prefixes.get(unwrapped(module)) or ""
        if not prefix and any(self.is_taken(name, tensor) for name, tensor in pairs):
            prefix = self.free_prefix(unwrapped(module), pairs)
        for name, tensor in pairs:
            if self.may_tell(prefix + name):
                self.names.put(tensor, prefix + name)
                self.taken[prefix + name] = weakref.ref(tensor)

    def free_prefix(self, module, pairs, also=lambda prefix: False):
        """Class#2. and so on: the first with which none of the names is another's."""
        number = 2
        while True:
            prefix = "%s#%d." % (type(module).__name__, number)
            if not any(self.is_taken(prefix + name, tensor) for name, tensor in pairs):
                if not also(prefix):
                    return prefix
            number += 1

    def is_taken(self, name, tensor):
        owner = self.taken.get(name)
        owner = owner() if owner is not None else None
        return owner is not None and owner is not tensor

    def may_tell(self, name):
        if name in self.told:
            return True
        if len(self.told) < MOST_NAMES:
            self.told.add(name)
            return True
        if self.full is not None:
            self.full, full = None, self.full
            full()
        return False


def inner_of(module):
    """The module that this one is wrapped around, by torch.compile, checkpointing or for several
    devices; None: it is no wrapper."""
    children = module._modules
    for name in WRAPPED:
        if name in children:
            return children[name]
    return children.get("module") if type(module).__name__ in WRAPPERS else None


def unwrapped(module):
    """The program's own module."""
    inner = inner_of(module)
    while inner is not None:
        module, inner = inner, inner_of(inner)
    return module


def named_modules(root):
    """(path, module, what is inside its wrappers) of all below a module, by the program's own names:
    without the steps that wrappers add."""
    plain = {}
    for raw, module in root.named_modules():
        around, _, name = raw.rpartition(".")
        path, parent = plain.get(around, (around, None)) if raw else ("", None)
        if raw and (parent is None or inner_of(parent) is not module):
            path = path + "." + name if path else name
        plain[raw] = path, module
        yield path, module, unwrapped(module)


def named_tensors(module):
    """Parameters, then buffers, as named_parameters has them: each once."""
    found, seen = ([], []), set()
    for path, one, _ in named_modules(unwrapped(module)):
        for pairs, members in zip(found, (one._parameters, one._buffers)):
            for name, tensor in members.items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    pairs.append((path + "." + name if path else name, tensor))
    return found[0] + found[1]
