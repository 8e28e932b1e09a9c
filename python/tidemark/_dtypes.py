"""In which dtypes a program computes: those of parameters, as lists of them are described, and those of
the graphs of the first backwards. A graph says what was cast, wherever the program did it: autocast
around a forward, inside of one, or by hand. What else such a graph says (_graph.py) is sent with it. Each is
sent once.

Nothing of a graph is kept: a node is another's for no longer than the walk takes.
"""
from tidemark import _graph, _precision
from tidemark._lists import memory_of

GRAPHS, NODES = 4, 20000  # so many are looked at, and so much of each
VALUES = 16  # of one key


class Dtypes(object):
    def __init__(self, library):
        self.library = library
        self.clear()

    def clear(self):
        """A forked child is a process of its own."""
        self.left = GRAPHS
        self.looked = False  # what autocast would do to one is asked once
        self.found = {}  # keys, to their values

    def add(self, key, values):
        found = self.found.setdefault(key, set())
        for one in values - found:
            if len(found) < VALUES:
                found.add(one)
                self.library.setting(("%s=%s" % (key, name_of(one))).encode("ascii", "replace"))

    def of_parameters(self, tensors):
        """A quantized one that passes for float has other numbers inside."""
        self.add("parameter_dtype", {memory_of(tensor).dtype for tensor in tensors})

    def of_graphs(self, roots):
        """Of the tensors that a backward begins with."""
        if not self.left:
            return
        self.left -= 1
        roots = roots if isinstance(roots, (tuple, list)) else (roots,)
        nodes = [tensor.grad_fn for tensor in roots if tensor.grad_fn is not None]
        attention = set()
        dtypes = dtypes_of(list(nodes), attention)
        self.add("graph_dtype", dtypes)
        self.add("attention", attention)
        for key, value in _graph.of_loss(nodes):
            self.add(key, {value})
        if [name_of(one) for one in dtypes] == ["float32"] and not self.looked:
            self.looked = True
            self.add("autocast", _precision.letters_of(nodes))


def dtypes_of(waiting, attention):
    """Attention that is written out is added to that."""
    seen, found = set(), set()
    while waiting and len(seen) < NODES:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        # What is compiled knows its ends alone; of older releases no node knows what it gets.
        if type(node).__name__.startswith("CompiledFunction"):
            found.add("compiled")
        gets = getattr(node, "_input_metadata", None)
        found.update(["unknown"] if gets is None else [one.dtype for one in gets])
        written = _graph.attention_of(node)
        if written:
            attention.add(written)
        waiting.extend([below for below, number in node.next_functions])
    return found


def name_of(value):
    return str(value).replace("torch.", "")
