"""%%tidemark, after `%load_ext tidemark`: runs a cell in a process of its own, recorded."""
from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from typing import IO, Any, List, Optional

from tidemark import _command, _record, _run


class Usage(Exception):
    """A line of %%tidemark that cannot be understood."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise Usage("%s\n%s" % (message, self.format_usage().strip()))


def parser() -> Parser:
    words = Parser(prog="%%tidemark", add_help=False)
    words.add_argument("name", nargs="?", help="the variable that gets the Run")
    words.add_argument("-o", "--output", help="the recording to write")
    words.add_argument("--force", action="store_true", help="replace a recording of that name")
    words.add_argument("-c", "--cells", help="cells to run before this one, such as 1-3")
    words.add_argument("--python", default=sys.executable, help="the interpreter")
    words.add_argument("-s", "--steps", type=int, help="end the cell after so many steps")
    words.add_argument("--history", action="store_true", help="as tidemark record has it")
    words.add_argument("--no-stacks", action="store_true", help="as tidemark record has it")
    return words


def source_of(shell: Any, cells: Optional[str], cell: str) -> str:
    """The cell, behind those that it needs: its process knows nothing of this one."""
    if not cells:
        return cell
    before = shell.extract_input_lines(cells)
    if not before.strip():
        raise Usage("--cells %s: there are no such cells" % cells)
    return "%s\n%s" % (before, cell)


def options_of(asked: Any) -> List[str]:
    how = {"force": asked.force, "steps": asked.steps, "history": asked.history}
    return _command.options({**how, "no_stacks": asked.no_stacks})


def copy_lines(source: IO[str], target: IO[str], recorder: IO[str]) -> None:
    """What the recorder says at the end is no error of the cell's."""
    for line in source:
        to = recorder if line.startswith("tidemark: ") else target
        to.write(line)
        to.flush()


def copiers(process: "subprocess.Popen[str]") -> List[threading.Thread]:
    assert process.stdout is not None and process.stderr is not None
    pipes = ((process.stdout, sys.stdout, sys.stdout), (process.stderr, sys.stderr, sys.stdout))
    threads = [threading.Thread(target=copy_lines, args=pipe, daemon=True) for pipe in pipes]
    for thread in threads:
        thread.start()
    return threads


def stream(command: List[str]) -> int:
    """Runs a command, its output as it comes. An interrupt is the cell's."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_record.environment({"PYTHONUNBUFFERED": "1"}),
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        threads = copiers(process)
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:
                os.killpg(process.pid, signal.SIGINT)
        for thread in threads:
            thread.join()
    return status


def run_cell(shell: Any, asked: Any, cell: str) -> _run.Run:
    path = asked.output or os.path.basename(_record.default_path())
    if os.path.exists(path) and not asked.force:
        raise Usage("%s is there: --force replaces it" % path)
    text = source_of(shell, asked.cells, cell)
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        file = os.path.join(folder, "cell.py")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        status = stream(_record.command_line(path, [asked.python, file], options_of(asked)))
    if not os.path.exists(path):
        raise RuntimeError("nothing was recorded: the recorder ended with status %d" % status)
    run = _run.open(path)
    if status != 0:
        show(shell, asked.name, run)
        raise RuntimeError("the cell's process ended with status %d: its own words are above" % status)
    return run


def show(shell: Any, name: Optional[str], run: _run.Run) -> None:
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

    if name:
        shell.user_ns[name] = run
    display(run)  # type: ignore[no-untyped-call,unused-ignore]


def load(shell: Any) -> None:
    """Gives a shell the magics %%tidemark and %tidemark."""

    def tidemark(line: str, cell: Optional[str] = None) -> None:
        """%%tidemark [NAME] [-o FILE] [--force] [-c CELLS] [--python EXE] [-s STEPS] [--history]
        [--no-stacks]: runs the cell in a process of its own under `tidemark record`, shows the
        recording, and keeps it as NAME. %tidemark [FILE]: shows a recording."""
        if cell is None:
            words = shlex.split(line)
            show(shell, None, _run.open(words[0] if words else None))
            return
        try:
            asked = parser().parse_args(shlex.split(line))
            if asked.name is not None and not asked.name.isidentifier():
                raise Usage("%r is no name of a variable" % asked.name)
            run = run_cell(shell, asked, cell)
        except Usage as error:
            from IPython.core.error import UsageError  # type: ignore[import-not-found,unused-ignore]

            raise UsageError(str(error)) from None
        show(shell, asked.name, run)

    shell.register_magic_function(tidemark, "line_cell", "tidemark")
