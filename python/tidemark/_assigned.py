"""The line of a program's source on which something is put into a variable or a collection.

The source is parsed; nothing of it runs. Where there are several lines, one that adds to what is
there stands before one that assigns, and one in a loop before one that is not.
"""
import ast
import os

LARGEST = 1 << 20  # bytes of a source
FILES = 24
ADDING = ("append", "appendleft", "add", "extend", "insert", "setdefault", "update", "put")
LOOPS = (ast.For, ast.While, ast.AsyncFor)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def leaf_of(path):
    """`losses` of `trainer.losses`."""
    return path.rsplit(".", 1)[-1]


def is_named(node, leaf):
    return getattr(node, "id", None) == leaf or getattr(node, "attr", None) == leaf


def targets(node):
    """What an assignment assigns to, each of a tuple."""
    waiting = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Tuple, ast.List)):
            waiting.extend(one.elts)
        else:
            yield one.value if isinstance(one, ast.Starred) else one


def adds(node, leaf):
    """`x += ...`, `x[...] = ...`, `x.append(...)`."""
    if isinstance(node, ast.AugAssign):
        return is_named(node.target, leaf)
    if isinstance(node, ast.Assign):
        return any(isinstance(one, ast.Subscript) and is_named(one.value, leaf)
                   for one in targets(node))
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and
            node.func.attr in ADDING and is_named(node.func.value, leaf))


def assigns(node, leaf):
    if isinstance(node, FUNCTIONS):
        return node.name == leaf  # an lru_cache
    return (isinstance(node, (ast.Assign, ast.AnnAssign)) and
            any(is_named(one, leaf) for one in targets(node)))


def line_in(tree, leaf):
    """0: there is none."""
    best, line = 0, 0
    waiting = [(tree, False)]
    while waiting:
        node, loops = waiting.pop()
        rank = 4 if adds(node, leaf) else 1 if assigns(node, leaf) else 0
        rank += 2 if rank and loops else 0
        if rank > best or (rank == best and rank and node.lineno < line):
            best, line = rank, node.lineno
        loops = loops or isinstance(node, LOOPS)
        waiting.extend((child, loops) for child in ast.iter_child_nodes(node))
    return line


class Sources(object):
    def __init__(self, files):
        """`files`: where to look beside the one that is asked about."""
        self.files = files[:FILES]
        self.trees, self.known = {}, {}

    def tree(self, file):
        if file not in self.trees:
            self.trees[file] = None
            try:
                if os.path.getsize(file) <= LARGEST:
                    with open(file, "rb") as source:
                        self.trees[file] = ast.parse(source.read())
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                pass  # not there, or not Python
        return self.trees[file]

    def find(self, file, path):
        """`train.py:41`, or nothing."""
        leaf = leaf_of(path)
        for one in [file] + [other for other in self.files if other != file]:
            tree = self.tree(one) if one else None
            line = line_in(tree, leaf) if tree is not None else 0
            if line:
                return "%s:%d" % (os.path.basename(one).replace("|", "_"), line)
        return ""

    def where(self, file, path):
        key = (file, path)
        if key not in self.known:
            self.known[key] = self.find(file, path)
        return self.known[key]
