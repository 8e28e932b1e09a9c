"""Whose memory is whose, counted a second time: hooks on every module and on every node of autograd
mark in the recording which module it is from here on. Nothing of this asks Tidemark, or for numbers
of nodes: a node belongs to the innermost module whose outputs lead to it and whose inputs do not. What
happens between the end of one node and the beginning of the next may be of either.

    truth = Truth(model); ...; truth.tell()    # the paths, by the marks' values, on standard output
"""
import json

import tidemark
import torch

NODES_HAVE_PREHOOKS = hasattr(type(torch.ones(1, requires_grad=True).exp().grad_fn), "register_prehook")


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


class Truth(object):
    def __init__(self, *roots):
        self.paths = [None]
        self.stack = []
        self.node = 0
        self.claimed = {}
        self.owners = {}
        self.modules = []
        for root in roots:
            self.watch(root)

    def watch(self, root, prefix=""):
        for path, module in root.named_modules():
            path = prefix + ("." if prefix and path else "") + path
            if module not in self.modules:
                self.modules.append(module)
                self.watch_one(path, module)

    def forget(self, root):
        self.claimed.clear()
        for module in root.modules():
            self.modules.remove(module)
            for parameter in module.parameters(recurse=False):
                del self.owners[parameter]

    def watch_one(self, path, module):
        number = len(self.paths)
        self.paths.append(path)
        for parameter in module.parameters(recurse=False):
            self.owners[parameter] = number

        def before(module, args, kwargs=None):
            if not self.stack and not self.node:
                self.claimed.clear()
            self.claim((args, kwargs), self.stack[-1] if self.stack else 0)
            self.stack.append(number)
            self.mark()

        def after(module, args, *rest):
            self.claim(rest[-1], number)
            del self.stack[self.stack.index(number):]
            self.mark()

        try:
            module.register_forward_pre_hook(before, with_kwargs=True, prepend=True)
            module.register_forward_hook(after, with_kwargs=True, always_call=True)
        except TypeError:
            module.register_forward_pre_hook(before)
            module.register_forward_hook(after)

    def mark(self):
        tidemark.mark("truth", self.stack[-1] if self.stack else self.node)

    def claim(self, value, number):
        waiting = [tensor.grad_fn for tensor in tensors_in(value) if tensor.grad_fn is not None]
        while waiting:
            node = waiting.pop()
            if node is None or node in self.claimed:
                continue
            self.claimed[node] = number
            variable = getattr(node, "variable", None)
            self.hook(node, self.owners.get(variable, 0) if variable is not None else number)
            waiting.extend(next for next, _ in node.next_functions)

    def hook(self, node, number):
        def begins(*unused):
            self.node = number
            self.mark()

        def ends(*unused):
            name = "truth after" if NODES_HAVE_PREHOOKS else "truth until here"
            tidemark.mark(name, number)

        if NODES_HAVE_PREHOOKS:
            node.register_prehook(begins)
        node.register_hook(ends)

    def over(self):
        """Of a backward."""
        self.node = 0
        self.mark()

    def tell(self):
        print(json.dumps({"paths": self.paths}))
