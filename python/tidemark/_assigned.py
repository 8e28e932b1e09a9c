"""The line of a program's source on which something is put into a variable or a collection.

The source is parsed; nothing of it runs. Where there are several lines, one that adds to what is
there stands before one that assigns, and one in a loop before one that is not. A name of a function is
not the module's of the same name; an attribute may be of any object, in any of the program's files.

A source is read once, into an index: (what sort of name, name) -> (rank, line).
"""
import ast
import os
import re
import stat
import time
import warnings

LARGEST = 1 << 16  # bytes of a source: some 0.1 s
FILES = 24
BUDGET_S = 0.1
ADDING = ("append", "appendleft", "add", "extend", "insert", "setdefault", "update", "put")
TAKING = ("pop", "popleft", "clear")
LOOPS = (ast.For, ast.While, ast.AsyncFor)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
GLOBAL, LOCAL, ATTRIBUTE, KEY = "global", "local", "attribute", "key"
ADDS, IN_LOOP, ASSIGNS = 4, 2, 1


def targets(node):
    """What an assignment assigns to, each of a tuple."""
    waiting = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Tuple, ast.List)):
            waiting.extend(one.elts)
        else:
            yield one.value if isinstance(one, ast.Starred) else one


def inner(node):
    """`x` of `x[...]`, and of `x[...][...]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def key_of(node):
    """`['outs']` of `x['outs']`; None."""
    key = getattr(node, "slice", None)
    if type(key).__name__ == "Index":  # before Python 3.9
        key = key.value
    key = getattr(key, "value", getattr(key, "s", None))
    return "[%.40r]" % key if isinstance(key, str) else None


def keyed(node):
    """(what it is in, rank) by a key, as `changes` has it by name: `x['outs'].append(y)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ADDING:
        yield key_of(node.func.value), ADDS
    elif isinstance(node, (ast.Assign, ast.AugAssign)):
        for one in targets(node):
            adds = isinstance(node, ast.AugAssign)
            if isinstance(one, ast.Subscript) and key_of(one) is None:
                one, adds = one.value, True  # x['outs'][step] = y
            yield key_of(one), ADDS if adds else ASSIGNS


def changes(node):
    """(what is changed, rank) of a node: `x += ...`, `x[...] = ...`, `x.append(...)`, `x = ...`."""
    if isinstance(node, ast.AugAssign):
        yield inner(node.target), ADDS
    elif isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value):
        for one in targets(node):
            yield inner(one), ADDS if isinstance(one, ast.Subscript) else ASSIGNS
    elif isinstance(node, LOOPS[:1] + LOOPS[2:]):
        for one in targets(node):
            yield inner(one), ASSIGNS
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ADDING:
            yield inner(node.func.value), ADDS


def name_of(node):
    """`['outs']` of `x['outs'][0]`, and `x` of `x[0]`."""
    while isinstance(node, ast.Subscript):
        if key_of(node) is not None:
            return key_of(node)
        node = node.value
    return getattr(node, "attr", None) or getattr(node, "id", None)


def shortened(node):
    """Names of what a node takes elements from: `del x[...]`, `x.pop()`, `x = x[-8:]`."""
    if isinstance(node, ast.Delete):
        return [name_of(one.value) for one in node.targets if isinstance(one, ast.Subscript)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [name_of(node.func.value)] if node.func.attr in TAKING else []
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
        cut = isinstance(node.value.slice, ast.Slice)
        return [name_of(one) for one in targets(node) if cut and name_of(one) == name_of(node.value)]
    return []


def spelled(node):
    """`x` or `self.x`; None for what is longer."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return "%s.%s" % (node.value.id, node.attr)
    return None


def carried_by(node):
    """[(target, whether its value is made of what it has already)]: of `out, h = cell(x, h)`."""
    if isinstance(node, ast.AugAssign):
        return [(node.target, True)]
    if isinstance(node, LOOPS[:1] + LOOPS[2:]):
        return [(one, False) for one in targets(node)]
    if not isinstance(node, ast.Assign):
        return []
    read = set(spelled(one) for one in ast.walk(node.value))
    return [(one, spelled(one) in read) for one in targets(node) if spelled(one)]


class Index(object):
    """Of one tree."""

    def __init__(self, tree):
        self.best, self.shorter = {}, set()
        self.firsts, self.attributes = {}, set()  # (loop, name) -> (line, carried)
        self.walk(tree)
        self.carried = self.attributes | set(
            name for (_, name), (_, carried) in self.firsts.items() if carried)

    def carry(self, node, loop):
        """A name has a round's value in the next if its first assignment in the round uses it; an
        attribute, if it is made of itself."""
        for target, carried in carried_by(node):
            if isinstance(target, ast.Attribute):
                if carried:
                    self.attributes.add(target.attr)
            elif isinstance(target, ast.Name) and loop is not None:
                first = self.firsts.get((loop, target.id))
                if first is None or node.lineno < first[0]:
                    self.firsts[loop, target.id] = (node.lineno, carried)

    def enter(self, sort, name, rank, line):
        best = self.best.get((sort, name), (0, 0))
        if rank > best[0] or (rank == best[0] and line < best[1]):
            self.best[sort, name] = (rank, line)

    def walk(self, tree):
        waiting = [(tree, None, None)]  # node, its innermost loop, names of its function that are global
        while waiting:
            node, loop, declared = waiting.pop()
            self.see(node, loop is not None, declared)
            if isinstance(node, FUNCTIONS):
                loop, declared = None, globals_of(node)
            if isinstance(node, LOOPS):
                loop = node
            self.carry(node, loop)
            waiting.extend((child, loop, declared) for child in ast.iter_child_nodes(node))

    def see(self, node, loops, declared):
        if isinstance(node, FUNCTIONS[:2]):  # an lru_cache
            self.enter(LOCAL if declared is not None else GLOBAL, node.name, ASSIGNS, node.lineno)
        self.shorter.update(shortened(node))
        for key, rank in keyed(node):
            if key is not None:
                self.enter(KEY, key, rank + (IN_LOOP if loops else 0), node.lineno)
        for target, rank in changes(node):
            rank += IN_LOOP if loops or isinstance(node, LOOPS) else 0
            if isinstance(target, ast.Attribute):
                self.enter(ATTRIBUTE, target.attr, rank, node.lineno)
            elif isinstance(target, ast.Name):
                inside = declared is not None and target.id not in declared
                self.enter(LOCAL if inside else GLOBAL, target.id, rank, node.lineno)

    def line(self, sorts, name):
        """0: there is none."""
        for sort in sorts:
            if (sort, name) in self.best:
                return self.best[sort, name][1]
        return 0


def last_of(path):
    """(name, is it a key): `outs` of `run.outs`, `['outs']` of `metrics['outs']`."""
    key = re.search(r"\['[^']*'\]$", path)
    return (key.group(), True) if key else (path.rsplit(".", 1)[-1], False)


def globals_of(function):
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            names.update(node.names)
    return names


def read(file, before):
    """A regular file that nobody has written to since the program began; None."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as source:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_mtime > before or about.st_size > LARGEST:
            return None
        return source.read(LARGEST + 1)


class Sources(object):
    def __init__(self, files, began=float("inf")):
        """`files`: where attributes are looked for beside the file that is asked about. `began`: when
        the program did, by time.time()."""
        self.files = files[:FILES]
        self.began = began
        self.end = time.monotonic() + BUDGET_S
        self.indices, self.known = {}, {}

    def index(self, file):
        """None: it is not there, is not Python, or there is no time left."""
        if file not in self.indices:
            self.indices[file] = None
            if time.monotonic() > self.end:
                return None
            try:
                text = read(file, self.began)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.indices[file] = Index(ast.parse(text)) if text else None
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                pass
        return self.indices[file]

    def find(self, file, path, local):
        name, is_key = last_of(path)
        if is_key:
            line = self.line_in(file, (KEY,), name)
            return line or self.find(file, path[:path.index("[")], local)
        sorts = (LOCAL, GLOBAL) if local else (GLOBAL,)
        if "." in path:
            sorts = (ATTRIBUTE, GLOBAL, LOCAL)
        others = [(one, (ATTRIBUTE,)) for one in self.files if one != file and "." in path]
        for one, wanted in [(file, sorts)] + others:
            line = self.line_in(one, wanted, name)
            if line:
                return line
        return ""

    def line_in(self, file, sorts, name):
        index = self.index(file) if file else None
        line = index.line(sorts, name) if index is not None else 0
        return "%s:%d" % (os.path.basename(file).replace("|", "_")[-40:], line) if line else ""

    def indices_of(self, file, path):
        files = [file] + (self.files if "." in path else [])
        found = [self.index(one) for one in files if one]
        return [index for index in found if index is not None]

    def says(self, what, file, path):
        key = (what, file, path)
        if key not in self.known:
            name = last_of(path)[0]
            self.known[key] = any(name in getattr(one, what) for one in self.indices_of(file, path))
        return self.known[key]

    def shortens(self, file, path):
        """Whether some line takes elements from what is called so."""
        return self.says("shorter", file, path)

    def carries(self, file, path):
        """Whether a round of a loop finds there what the one before has put there."""
        return self.says("carried", file, path)

    def where(self, file, path, local=False):
        """`train.py:41`, or nothing. `local`: of a function that still runs."""
        key = (file, path, local)
        if key not in self.known:
            self.known[key] = self.find(file, path, local)
        return self.known[key]
