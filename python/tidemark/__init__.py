"""Tell a Tidemark recording what a program does.

    import tidemark

    with tidemark.phase("augment"):
        ...
    tidemark.step(n)
    tidemark.mark("learning rate x 1e6", 100)
    tidemark.tag(tensor, "activation", "attention scores")

Under `tidemark record` the calls reach the recorder; everywhere else they do nothing. Phases of
PyTorch (forward, backward, optimizer and so on) are found without any of this.

And read recordings, from Python 3.9 on (docs/python.md):

    run = tidemark.open("run.db")
    run.peak().by_site
"""
TYPE_CHECKING = False  # as typing's, which recorded programs need not import
if TYPE_CHECKING:
    from typing import Any, Callable, List, TypeVar

    from tidemark._command import NotRecording, Refused, Unavailable
    from tidemark._record import Recording, record
    from tidemark._run import Report, Run, open

    F = TypeVar("F", bound=Callable[..., Any])
    __version__: str

# What is imported when it is first used: a recorded program pays for none of it.
_LATER = {
    "open": "_run",
    "Run": "_run",
    "Report": "_run",
    "Refused": "_command",
    "Unavailable": "_command",
    "NotRecording": "_command",
    "record": "_record",
    "Recording": "_record",
}
__all__ = [
    "CATEGORIES",
    "NotRecording",
    "Recording",
    "Refused",
    "Report",
    "Run",
    "Unavailable",
    "mark",
    "open",
    "phase",
    "record",
    "recording",
    "step",
    "tag",
]

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

_found = []  # type: List[Any]


def _library() -> "Any":
    """The native library, looked for once; None when nobody records."""
    if not _found:
        try:
            from tidemark import _native

            _found.append(_native.load())  # type: ignore[no-untyped-call]
        except ImportError:
            _found.append(None)
    return _found[0]


def recording() -> bool:
    """Whether a recorder was there at the start."""
    return _library() is not None


class phase(object):
    """A named phase, as a context manager or around a function. Phases nest."""

    def __init__(self, name: str) -> None:
        self.name = str(name)

    def __enter__(self) -> "phase":
        library = _library()
        if library is not None:
            library.phase(1, library.name(self.name), 0)
        return self

    def __exit__(self, kind: "Any", value: "Any", traceback: "Any") -> None:
        library = _library()
        if library is not None:
            library.phase(0, library.name(self.name), kind is not None)

    def __call__(self, function: "F") -> "F":
        import functools

        @functools.wraps(function)
        def inside(*args: "Any", **kwargs: "Any") -> "Any":
            with phase(self.name):
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


def step(number: int) -> None:
    """What happens until the next call belongs to this step."""
    library = _library()
    if library is not None:
        library.step(int(number))


def mark(name: str, value: int = 0) -> None:
    """One instant with a name and a whole number."""
    library = _library()
    if library is not None:
        library.mark(library.name(str(name)), int(value))


def tag(tensor: "Any", category: str, name: str = "") -> None:
    """Says what the block behind a tensor is for; category is a key of CATEGORIES."""
    number = CATEGORIES[category]
    library = _library()
    if library is None:
        return
    from tidemark import _lists

    address, size, heap = _lists.place_of(library, tensor)  # type: ignore[no-untyped-call]
    if address:
        library.tag(0, address, size, heap, number, library.name(str(name)) if name else 0)


def load_ipython_extension(shell: "Any") -> None:
    """What `%load_ext tidemark` calls: the magic %%tidemark."""
    from tidemark import _magic

    _magic.load(shell)


def _version() -> str:
    from tidemark import _command

    try:
        return _command.version()
    except (_command.Unavailable, _command.Refused, OSError) as why:
        raise AttributeError("module 'tidemark' has no attribute '__version__': %s" % why) from why


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        globals()[name] = _version()
        return globals()[name]
    module = _LATER.get(name)
    if module is None and name != "callbacks":
        raise AttributeError("module 'tidemark' has no attribute %r" % (name,))
    import importlib

    if module is None:
        return importlib.import_module("tidemark.callbacks")
    value = getattr(importlib.import_module("tidemark." + module), name)
    globals()[name] = value
    return value


def __dir__() -> "List[str]":
    return sorted(set(globals()) | set(_LATER))
