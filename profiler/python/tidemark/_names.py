"""Names of parameters and buffers, learnt from the modules that are called."""
import weakref

from tidemark._lists import Table


class Names(object):
    """Names of parameters and buffers, from every module that was called. `version` counts what
    became known."""

    def __init__(self):
        self.names = Table()
        self.taken = {}  # name -> weak reference
        self.version = 0
        self.prefixes = Table()  # of a root, where _modules.py chose one

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
            prefix = "%s#%d." % (type(module).__name__, self.version)
        for name, tensor in pairs:
            self.names.put(tensor, prefix + name)
            self.taken[prefix + name] = weakref.ref(tensor)

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
