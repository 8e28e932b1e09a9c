"""Tell a Tidemark recording what a program does.

    import tidemark

    with tidemark.phase("augment"):
        ...
    tidemark.step(n)
    tidemark.mark("learning rate x 1e6", 100)
    tidemark.tag(tensor, "activation", "attention scores")

Under `tidemark record` the calls reach the recorder; everywhere else they do nothing. Phases of
PyTorch (forward, backward, optimizer and so on) are found without any of this.
"""

CATEGORIES = {
    "parameter": 1,
    "gradient": 2,
    "optimizer state": 3,
    "activation": 4,
    "input": 5,
    "bucket": 6,
    "workspace": 7,
    "other": 8,
}

_found = []


def _library():
    """The native library, looked for once; None when nobody records."""
    if not _found:
        try:
            from tidemark import _native

            _found.append(_native.load())
        except ImportError:
            _found.append(None)
    return _found[0]


def recording():
    """Whether a recorder was there at the start."""
    return _library() is not None


class phase(object):
    """A named stretch, as a context manager or around a function. Phases nest."""

    def __init__(self, name):
        self.name = str(name)

    def __enter__(self):
        library = _library()
        if library is not None:
            library.phase(1, library.name(self.name), 0)
        return self

    def __exit__(self, kind, value, traceback):
        library = _library()
        if library is not None:
            library.phase(0, library.name(self.name), kind is not None)
        return False

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with phase(self.name):
                return function(*args, **kwargs)

        return inside


def step(number):
    """What happens until the next call belongs to this step."""
    library = _library()
    if library is not None:
        library.step(int(number))


def mark(name, value=0):
    """One instant with a name and a whole number."""
    library = _library()
    if library is not None:
        library.mark(library.name(str(name)), int(value))


def tag(tensor, category, name=""):
    """Says what the block behind a tensor is for; category is a key of CATEGORIES."""
    number = CATEGORIES[category]
    library = _library()
    if library is None:
        return
    from tidemark import _lists

    address, size, heap = _lists.place_of(library, tensor)
    if address:
        library.tag(0, address, size, heap, number, library.name(str(name)) if name else 0)
