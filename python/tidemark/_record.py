"""Recording from inside of a program, and running one under the recorder: docs/python.md."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Type, Union

import tidemark
from tidemark import _command
from tidemark._run import Run, open

Path = Union[str, "os.PathLike[str]"]

CANNOT = (
    "this process cannot be recorded from inside: %s. Start the program as `tidemark record -- "
    "python3 train.py`; in a notebook begin the cell with %%%%tidemark, which runs it in a process "
    "of its own"
)
NO_GPU = (
    "memory of the CPU is reported to a library that has to be there when the process starts, and "
    "PyTorch uses no CUDA GPU here"
)
ENTRIES = 10_000_000  # of the allocator's history; what is older is lost, and import says so


def default_path() -> str:
    """As the command names recordings, so that it finds the newest one."""
    return os.path.abspath("tidemark.%s-%d.db" % (time.strftime("%Y%m%d-%H%M%S"), os.getpid()))


def replaceable(path: str, force: bool) -> None:
    """Nothing but a recording is replaced, and only with `force`."""
    if not force:
        raise FileExistsError("%s is there: force=True replaces it" % path)
    open(path)


class Recording:
    """What `with tidemark.record() as recording` gives: `path`, and `run()` when it has ended."""

    def __init__(self, path: Optional[str], how: str) -> None:
        self.path = path
        self.how = how
        self.ended = False

    def __repr__(self) -> str:
        return "<tidemark recording of %s: %s>" % (self.how, self.path)

    def run(self) -> Run:
        if self.path is None:
            raise tidemark.NotRecording("the recorder of this process has not said where it writes")
        if not self.ended:
            raise tidemark.NotRecording("the recording has not ended: run() is for after the `with`")
        return open(self.path)


def remove(database: str) -> None:
    """With its log, which SQLite would play into the next file of that name."""
    for end in ("", "-wal", "-shm"):
        if os.path.exists(database + end):
            os.unlink(database + end)


class Delimited:
    """In a process that is recorded already: a phase of that name."""

    def __init__(self, name: str) -> None:
        self.phase = tidemark.phase(name)
        self.recording = Recording(os.environ.get("TIDEMARK_RECORDING"), "a phase")

    def begin(self) -> None:
        self.phase.__enter__()

    def end(self, failed: bool) -> None:
        self.phase.__exit__(RuntimeError if failed else None, None, None)


class History:
    """In a process that nobody records: what PyTorch's CUDA allocator keeps of itself."""

    def __init__(self, torch: Any, path: Optional[Path], force: bool) -> None:
        self.torch = torch
        _command.find()  # before anything is run
        out = default_path() if path is None else os.path.abspath(os.fspath(path))
        if os.path.exists(out):
            replaceable(out, force)
        self.recording = Recording(out, "the CUDA allocator's history")

    def begin(self) -> None:
        self.torch.cuda.memory._record_memory_history(stacks="python", max_entries=ENTRIES)

    def end(self, failed: bool) -> None:
        memory, path = self.torch.cuda.memory, str(self.recording.path)
        folder = os.path.dirname(path)
        with tempfile.TemporaryDirectory(prefix="tidemark-", dir=folder) as room:
            snapshot, made = os.path.join(room, "snapshot.pickle"), os.path.join(room, "made.db")
            try:
                memory._dump_snapshot(snapshot)
            finally:
                memory._record_memory_history(enabled=None)
            _command.run(["import", "--output", made, "--", snapshot])
            remove(path)
            os.replace(made, path)


def way(path: Optional[Path], name: str, force: bool) -> Union[Delimited, History]:
    """How this process can be recorded; NotRecording says why it cannot."""
    if tidemark.recording():
        return Delimited(name)
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        raise tidemark.NotRecording(CANNOT % NO_GPU)
    on = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    if not hasattr(torch.cuda.memory, "_record_memory_history") or on is None:
        raise tidemark.NotRecording(CANNOT % "this PyTorch keeps no history of its CUDA allocator")
    if on():
        raise tidemark.NotRecording(CANNOT % "the program has turned on the allocator's history itself")
    return History(torch, path, force)


class record:
    """Records what is inside of the `with`.

    Under `tidemark record` it is a phase called `name` of that recording. Elsewhere, where PyTorch
    uses a CUDA GPU, the allocator's own history of the block is written to `path`: blocks, segments
    and stacks, no phases. Where neither can be, NotRecording says why before anything is run.
    """

    def __init__(self, path: Optional[Path] = None, name: str = "record", force: bool = False) -> None:
        self.arguments = (path, name, force)
        self.way: Optional[Union[Delimited, History]] = None

    def __enter__(self) -> Recording:
        self.way = way(*self.arguments)
        self.way.begin()
        return self.way.recording

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        assert self.way is not None
        self.way.end(kind is not None)
        self.way.recording.ended = True


def command_line(path: str, program: Sequence[str], options: Sequence[str]) -> List[str]:
    return [_command.find(), "record", "--output", path, *options, "--", *program]


def environment(more: Optional[Dict[str, str]] = None) -> Dict[str, str]:
    """For a program that gets a recorder of its own: nothing of the one that this process has."""
    values = {k: v for k, v in os.environ.items() if k not in _command.RECORDERS}
    values.update(more or {})
    return values


def execute(
    program: Sequence[str], path: str, options: Sequence[str] = (), **how: Any
) -> "subprocess.CompletedProcess[str]":
    """Runs a program under `tidemark record`."""
    how.setdefault("env", environment())
    command = command_line(path, program, options)
    return subprocess.run(command, encoding="utf-8", errors="replace", **how)
