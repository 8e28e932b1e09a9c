"""Executed by libtidemark.so between two byte codes of the main thread, where PYTHONPATH was not
read (see pyboot.c), or in an armed program at the begin of each recording, with `folder` set to the
folder above this one, and `armed` in an armed one."""
import sys


def start(folder, armed):
    torch = sys.modules.get("torch")
    if torch is None or getattr(torch.__spec__, "_initializing", False):
        return
    sys.path.insert(0, folder)
    try:
        from tidemark import _install
    finally:
        sys.path.remove(folder)
    if armed:
        _install.wake()
    else:
        _install.install()


start(folder, armed)  # noqa: F821
