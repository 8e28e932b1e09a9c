"""Installs the helper in a torch that has been imported. Idempotent."""
import atexit
import os
import sys

_done = []


def install():
    if _done:
        return
    _done.append(True)
    import tidemark
    from tidemark import _native

    library = tidemark._library()
    if library is None:
        return
    library.attach(_native.VERSION, 1)
    torch = sys.modules["torch"]
    atexit.register(look_at_holders, torch, library)
    watch_exit(library)
    installer = install_marks(torch, library)
    try:
        from tidemark import _history

        _history.install(torch, library, installer)
    except Exception as error:
        note_misfit(library, "allocator settings", error)
    try:
        from tidemark import _profiler

        _profiler.install(torch, library)
    except Exception as error:
        note_misfit(library, "torch.profiler", error)
    try:
        from tidemark import _peaks

        _peaks.install(torch, library)
    except Exception as error:
        note_misfit(library, "torch.cuda's peaks", error)
    try:
        from tidemark import _ranks

        _ranks.install(torch, library)
    except Exception as error:
        note_misfit(library, "ranks", error)
    try:
        from tidemark import _objects

        _objects.install(torch)
    except Exception as error:
        note_misfit(library, "objects between ranks", error)
    try:
        from tidemark import _asserts

        _asserts.install(torch)
    except Exception as error:
        note_misfit(library, "what distributions ask", error)
    try:
        from tidemark import _settle

        _settle.install()
    except Exception as error:
        note_misfit(library, "the end of a rehearsal", error)


def watch_exit(library):
    """No step has what is let go from here on. What is registered last is called first: again once
    training has begun, when the program and the libraries have most of theirs in place."""
    atexit.unregister(library.over)
    atexit.register(library.over)


def look_at_holders(torch, library):
    """Behind the last step: `over` was registered later, and is called first."""
    from tidemark import _holders

    _holders.look(torch, library)


def install_marks(torch, library):
    """Who does the marks, or None."""
    if os.environ.get("TIDEMARK_PHASES") == "off":
        library.note(b"phases: turned off", 1)
        return None
    try:
        from tidemark import _marks

        installer = _marks.Installer(torch, library)
        installer.trains = lambda: watch_exit(library)
        installer.run()
        library.note(b"phases", 0)
        return installer
    except Exception as error:
        note_misfit(library, "phases", error)
        return None


def note_misfit(library, what, error):
    text = "%s: the helper does not fit this torch: %s: %s" % (what, type(error).__name__, error)
    library.note(text.encode("utf-8", "replace"), 1)
