"""Put in the way of the program's own sitecustomize by `tidemark record`.

What `tidemark record` sets for the programs that it starts:

    PYTHONPATH         this folder, before what was there
    TIDEMARK_PYTHON    this folder, for libtidemark.so where PYTHONPATH is not read (python -I, -E,
                       -S); may be left out while it is the folder python/ beside the library
    TIDEMARK_PHASES    "off": no phases and no tags; anything else, or nothing: both
    TIDEMARK_STACKS    "0": blocks have no Python stacks

    TIDEMARK_ARMED     nobody records yet: nothing is done here, libtidemark.so starts the helper when
                       somebody does

It arms a finder that loads the helper when `import torch` has finished, and then runs the
sitecustomize that this one hides. It runs at every start of an interpreter: nothing is imported
here that an interpreter has not imported anyway.
"""
import sys


def folder_here():
    return __file__.rpartition("/")[0]


def load(folder):
    """Runs the helper. Whatever goes wrong in it is not the program's."""
    try:
        sys.path.insert(0, folder)
        try:
            from tidemark import _install
        finally:
            sys.path.remove(folder)
        _install.install()
    except Exception:
        pass


class Finder(object):
    """Finds nothing; the loader that another finder returns for torch is made to call back once.

    The finder stays until torch was executed without an exception: a program that only asks
    whether torch is there, or whose import of it fails, may import it later.
    """

    tidemark = True

    def __init__(self, folder):
        self.folder = folder
        self.asking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.asking:
            return None
        self.asking = True
        try:
            spec = self.ask(name, path, target)
        finally:
            self.asking = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self.arm(spec.loader)
        return spec

    def ask(self, name, path, target):
        finders = list(sys.meta_path)
        after = finders.index(self) + 1 if self in finders else 0
        for finder in finders[after:]:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                return spec
        return None

    def arm(self, loader):
        try:
            own = loader.__dict__.get("exec_module")
        except AttributeError:
            return
        original = loader.exec_module

        def exec_module(module):
            if own is None:
                del loader.exec_module
            else:
                loader.exec_module = own
            original(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            load(self.folder)

        loader.exec_module = exec_module


def arm(folder):
    import os

    if not os.environ.get("TIDEMARK_SOCKET") or os.environ.get("TIDEMARK_ARMED"):
        return
    if any(getattr(finder, "tidemark", False) for finder in sys.meta_path):
        return
    if "torch" in sys.modules:
        load(folder)
    else:
        sys.meta_path.insert(0, Finder(folder))


def is_missing(error):
    if sys.version_info[0] < 3:
        return str(error).endswith("No module named sitecustomize")
    return error.name == "sitecustomize"


def chain(folder):
    """Imports the sitecustomize that comes after this one. Its exceptions are the program's own.

    Python wants to find a module under this name when ours has been executed: the other one, or
    ours where there is none.
    """
    ours = sys.modules.pop("sitecustomize", None)
    before = sys.path[:]
    without = [entry for entry in before if entry != folder]
    sys.path[:] = without
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if not is_missing(error):
            raise
    finally:
        if sys.path == without:
            sys.path[:] = before
        elif folder not in sys.path:
            sys.path.insert(0, folder)
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


if __name__ == "sitecustomize":
    if sys.version_info[0] >= 3:
        try:
            arm(folder_here())
        except Exception:
            pass
    chain(folder_here())
