"""The command `tidemark`: where it is, and what it answers. No figure is computed in Python."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, Iterable, List, Sequence, Tuple

# From the folder of this package: an installation (lib/tidemark/python/tidemark), a build tree.
BESIDE = ("../../../../bin/tidemark", "../../../viewer-cli/tidemark")


class Refused(RuntimeError):
    """The command did not answer: its own message, and its exit status (2 wrong usage,
    3 unreadable or damaged input, 4 internal error)."""

    def __init__(self, message: str, status: int, command: Sequence[str]) -> None:
        super().__init__(message)
        self.status = status
        self.command = list(command)


class Unavailable(RuntimeError):
    """There is no command `tidemark`, or a package that is needed is not installed."""


class NotRecording(RuntimeError):
    """Nobody records this process, and a recorder cannot be added to it; the message says why."""


def candidates() -> Iterable[str]:
    here = os.path.dirname(os.path.abspath(__file__))
    for path in BESIDE:
        yield os.path.normpath(os.path.join(here, path))
    yield os.path.join(os.path.dirname(sys.executable), "tidemark")
    yield os.path.join(os.path.expanduser("~"), ".local", "bin", "tidemark")


def find() -> str:
    """The command: TIDEMARK where that is set, else beside this package, beside the interpreter,
    in PATH."""
    named = os.environ.get("TIDEMARK")
    if named:
        found = shutil.which(named)
        if found is None:
            raise Unavailable("TIDEMARK is %r, and there is no such command" % named)
        return found
    for path in candidates():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("tidemark")
    if found is None:
        raise Unavailable(
            "no command `tidemark` beside this package, beside the interpreter or in PATH: "
            "set TIDEMARK to its path"
        )
    return found


# What a recorder puts into the environment of the program that it records.
RECORDERS = ("TIDEMARK_SOCKET", "TIDEMARK_DOOR", "TIDEMARK_KEY")


def clean() -> Dict[str, str]:
    """The environment for a command whose output is read: no colour, no width of a terminal. What
    a recorder has put there is not for a report."""
    unwanted = ("LD_PRELOAD", "COLUMNS", "LINES", *RECORDERS)
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    environment["NO_COLOR"] = "1"
    return environment


def message_of(stderr: str, status: int) -> str:
    lines = [line for line in stderr.strip().splitlines() if line]
    texts = [line[len("tidemark: ") :] if line.startswith("tidemark: ") else line for line in lines]
    return "\n".join(texts) or "tidemark ended with status %d and said nothing" % status


def started(arguments: Sequence[str], accepted: Sequence[int]) -> "subprocess.CompletedProcess[str]":
    command = [find(), *arguments]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean(),
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode not in accepted:
        raise Refused(message_of(done.stderr, done.returncode), done.returncode, command)
    return done


def run(arguments: Sequence[str]) -> str:
    """What `tidemark ARGUMENTS` prints; an exit status that is not 0 is an exception."""
    return started(arguments, (0,)).stdout


def version() -> str:
    """The command's own: it and this package are installed together."""
    return run(["--version"]).split(None, 2)[1]


def ask(arguments: Sequence[str], accepted: Sequence[int] = (0,)) -> Tuple[Dict[str, Any], int]:
    """The JSON of a report, and its exit status, which is one of those accepted. A report that may
    say 'no' by its status can also have refused to look: then it printed no JSON."""
    done = started(arguments, accepted)
    try:
        answer = json.loads(done.stdout)
        return {name: answer[name] for name in ("command", "database", "tables", "notes")}, done.returncode
    except (ValueError, KeyError, TypeError):
        text = message_of(done.stderr, done.returncode)
        raise Refused(text, done.returncode, [find(), *arguments]) from None


def option(name: str, value: object) -> List[str]:
    """A value as an option: None and False are none, True is a flag."""
    if value is None or value is False:
        return []
    flag = "--" + name.replace("_", "-")
    return [flag] if value is True else [flag, str(value)]


def options(values: Dict[str, object]) -> List[str]:
    return [word for name in sorted(values) for word in option(name, values[name])]
