"""Which objects are modules, and what each is called, for libtidemark.so: it finds the one that runs
by the frames of the thread, and a module that autograd goes back through by its nodes.

A root is a module that was called from outside of any other. It is walked once, and again when a call
was seen of a module that was not reported; after walks that found nothing new, more and more seldom. No
module is kept for that, and each is taken back before its address can be another's.
"""
import sys
import weakref
from itertools import count

from tidemark._lists import Table
from tidemark._names import inner_of, named_modules, named_tensors, unwrapped

MOST_PATIENCE = 64
MOST_FRAMES = 64
CONTAINERS = "torch.nn.modules.container"


def place_in_caller(module):
    """What a caller's own object calls a container of torch.nn, whose own names are only numbers: `net` of
    self.net(x) in a LightningModule's training_step. "" if nobody who calls has it."""
    if type(module).__module__ != CONTAINERS:
        return ""
    frame = sys._getframe(1)
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        code = frame.f_code
        owner = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        if owner is not module and hasattr(type(owner), "named_modules"):
            for path, one, own in named_modules(owner):
                if path and own is module:
                    return path
        frame = frame.f_back
    return ""


class Known(object):
    __slots__ = ("identity", "path", "root")

    def __init__(self, identity, path, root):
        self.identity = identity
        self.path = path
        self.root = root  # number of the root that it was found below


class Modules(object):
    def __init__(self, library, names):
        self.library = library
        self.names = names
        self.known = Table(lambda known: library.module_gone(known.identity))
        self.roots = Table()  # root -> (its number, what its paths begin with)
        self.living = []  # weak references to the roots
        self.numbers = count(1)
        self.taken = {}  # path -> weak reference
        self.most_taken = 1000
        self.unknown = None
        self.seen = 0
        names.full = self.say_full
        self.patience = self.waits = 0

    def begin(self, call, forward, engine):
        """The codes of the functions by which a module, and the engine, are called."""
        names = call.co_name, forward.co_name, engine
        self.kept = names
        works = self.tell(self) and self.tell_captured(self)
        if works:
            self.unknown = self.library.unknown_here()
        return works

    def say_full(self):
        self.library.note(b"names: there are more than 100000 modules and parameters; what came later "
                          b"has none", 1)

    def tell(self, *unused):
        call, forward, engine = self.kept
        return self.library.modules(id(forward), id(call), id(engine), id(self))

    def tell_captured(self, *unused):
        """The same, with the first argument in a cell."""
        call, forward, engine = self.kept
        return self.library.modules(id(forward), id(call), id(engine), (lambda: id(self))())

    def called(self, root, parameters):
        """An outermost call."""
        if self.unknown is None:
            return
        if self.roots.get(root) is None:
            self.add_root(root, parameters)
        elif self.unknown[0] != self.seen:
            self.look_again()

    def look_again(self):
        self.waits += 1
        if self.waits <= self.patience:
            return
        self.seen, self.waits = self.unknown[0], 0
        roots = [root for root in [reference() for reference in self.living] if root is not None]
        found = [self.walk(root) for root in roots]
        self.patience = 0 if any(found) else min(2 * self.patience + 1, MOST_PATIENCE)

    def add_root(self, root, parameters):
        self.living = [one for one in self.living if one() is not None]
        if len(self.taken) > self.most_taken:  # of models that were copied and are gone
            self.taken = {path: one for path, one in self.taken.items() if one() is not None}
            self.most_taken = 2 * len(self.taken) + 1000
        self.roots.put(root, (next(self.numbers), self.prefix_of(root, parameters)))
        if self.known.get(root) is None:
            self.living.append(weakref.ref(root))
            self.walk(root)

    def prefix_of(self, root, parameters):
        """What keeps the names of this root apart from those of others; without a dot."""
        inner = unwrapped(root)
        name = type(inner).__name__
        if self.known.get(inner) is not None:
            return ""
        pairs = named_tensors(inner)
        place = place_in_caller(inner)
        if place and not self.is_taken(place, inner) and not any(
                self.names.is_taken(place + "." + path, one) for path, one in pairs):
            self.names.prefixes.put(inner, place + ".")
            return place
        taken = any(path and self.is_taken(path, one) for path, _, one in named_modules(inner))
        if taken or any(self.names.is_taken(*pair) for pair in pairs):
            prefix = self.names.free_prefix(
                inner, pairs, lambda prefix: self.is_taken(prefix[:-1], inner))
            self.names.prefixes.put(inner, prefix)
            return prefix[:-1]
        if parameters and not self.is_taken("", inner):
            return ""
        return "" if parameters else self.free_name(name, inner)

    def free_name(self, name, module):
        number, path = 1, name
        while self.is_taken(path, module):
            number += 1
            path = "%s#%d" % (name, number)
        return path

    def is_taken(self, path, module):
        owner = self.taken.get(path)
        owner = owner() if owner is not None else None
        return owner is not None and owner is not module

    def walk(self, root):
        """True: something new was there."""
        number, prefix = self.roots.get(root)
        inner = unwrapped(root)
        found = [self.learn(number, self.path(prefix, path, own), one, own)
                 for path, one, own in named_modules(inner)]
        while root is not inner:  # what is around it has its place
            found.append(self.learn(number, self.path(prefix, "", inner), root, inner))
            root = inner_of(root)
        return any(found)

    def path(self, prefix, path, module):
        if not path and not prefix and self.is_taken("", module):
            return self.free_name(type(module).__name__, module)
        return prefix + "." + path if prefix and path else prefix or path

    def learn(self, number, path, module, own):
        """`own` is what the module is wrapped around, or itself: whose place and class it has."""
        known = self.known.get(module)
        if known is not None and (known.path == path or known.root != number):
            return False
        if not self.names.may_tell(" " + path):
            return False
        # Before it is reported: what is reported and cannot be taken back would be another's one day.
        self.known.put(module, Known(id(module), path, number))
        self.taken[path] = weakref.ref(own)
        text = path.encode("utf-8", "replace")
        name = type(own).__name__.encode("utf-8", "replace")
        if not self.library.module(id(module), text, name):
            self.known.forget(module)
            return False
        return True
