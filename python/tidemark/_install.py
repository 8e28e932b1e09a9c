"""Installs the helper in a torch that has been imported. Idempotent."""
import atexit
import os
import sys
import time

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
    atexit.register(look_at_holders, torch, library, time.time())
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


def wake():
    """In a program that was started armed, a recording has begun in the middle of it."""
    import tidemark
    from tidemark import _native

    if not tidemark._found or tidemark._found[0] is None:
        # It was called while nobody recorded.
        del tidemark._found[:], _done[:]
    if not _done:
        if not is_inside_module(sys.modules["torch"]):
            install()
        return
    library = tidemark._library()
    library.attach(_native.VERSION, 1)
    for function in library.again:
        try:
            function()
        except Exception:
            pass


def is_inside_module(torch):
    """A module called inside of one whose own call was not seen would pass for a model of its own."""
    calls = [getattr(torch.nn.Module, name, None)
             for name in ("__call__", "_call_impl", "_wrapped_call_impl", "_slow_forward")]
    codes = [getattr(call, "__code__", None) for call in calls]
    for frame in sys._current_frames().values():
        while frame is not None:
            if frame.f_code in codes:
                return True
            frame = frame.f_back
    return False


def watch_exit(library):
    """No step has what is let go from here on. What is registered last is called first: again once
    training has begun, when the program and the libraries have most of theirs in place."""
    atexit.unregister(library.over)
    atexit.register(library.over)


def look_at_holders(torch, library, began):
    """Behind the last step: `over` was registered later, and is called first."""
    from tidemark import _holders

    _holders.look(torch, library, began)


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
