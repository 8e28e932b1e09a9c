"""A recording, asked through the command `tidemark`: docs/python.md."""
from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from tidemark import _command, _frames

Moment = Union[int, float, str, Tuple[int, str]]
Steps = Union[int, str, range, Tuple[Optional[int], Optional[int]]]


class Report(Mapping[str, Any]):
    """What one command answered: its sections by name, each a frame, also as attributes.

    `rows(name)` has them as the command's JSON has them, `notes` are the lines below its tables.
    """

    def __init__(self, answer: Dict[str, Any], frames: str, passed: bool = True) -> None:
        self._tables: Dict[str, _frames.Rows] = answer["tables"]
        self._frames = frames
        self.command: str = answer["command"]
        self.notes: List[str] = list(answer["notes"])
        self.passed = passed

    def rows(self, name: str) -> _frames.Rows:
        return [dict(row) for row in self._tables[name]]

    def __getitem__(self, name: str) -> Any:
        return _frames.make(self._tables[name], _frames.choose(self._frames))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._tables:
            return self[name]
        raise AttributeError("report %r has no section %r" % (self.__dict__.get("command"), name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._tables})

    def __repr__(self) -> str:
        counts = ", ".join("%s: %d" % (name, len(rows)) for name, rows in self._tables.items())
        return "<tidemark %s: %s>" % (self.command, counts or "no section")


def moment_text(moment: Moment) -> str:
    """A moment as the command takes it: 3, (3, "backward"), "step 3 backward", 1.5 (seconds)."""
    if isinstance(moment, tuple):
        return "%d/%s" % moment
    if isinstance(moment, bool):
        raise TypeError("a moment is a step, a phase of a step, a time in seconds or a name")
    if isinstance(moment, float):
        return "@%dns" % round(moment * 1e9)
    text = str(moment).strip()
    words = re.match(r"^step\s+(\d+)(?:[\s,/]+(.+))?$", text)
    if not words:
        return text
    return words.group(1) if words.group(2) is None else "%s/%s" % words.group(1, 2)


def words_of(moment: Optional[Moment]) -> List[str]:
    return [] if moment is None else [moment_text(moment)]


def steps_text(steps: Optional[Steps]) -> Optional[str]:
    """Steps as the command takes them: 3, (2, None), range(2, 5), "2.."."""
    if steps is None or isinstance(steps, str):
        return steps
    if isinstance(steps, int):
        return "%d..%d" % (steps, steps)
    if isinstance(steps, range):
        if steps.step != 1 or len(steps) == 0:
            raise ValueError("steps are all of a range, and at least one: %r" % (steps,))
        return "%d..%d" % (steps[0], steps[-1])
    first, last = steps
    return "%s..%s" % ("" if first is None else first, "" if last is None else last)


class Run:
    """A recording. Every method asks the command when it is called first, and again only if the
    file has changed since.

    Those that pick take `process` (its number or pid), `rank`, `device` and `steps`, as the
    options of every report do.
    """

    def __init__(self, path: str, frames: str = "auto") -> None:
        if frames != "auto":
            _frames.choose(frames)
        self.path = path
        self.frames = frames
        self._answers: Dict[Tuple[str, ...], Report] = {}
        self._stamp: Tuple[object, ...] = ()

    def __repr__(self) -> str:
        return "tidemark.Run(%r)" % self._shown()

    def _shown(self) -> str:
        """The path as a message has it: short where it is below this folder."""
        short = os.path.relpath(self.path)
        return self.path if short.startswith("..") else short

    # ---- asking ----

    def _state(self) -> Tuple[object, ...]:
        """Changes as the file does: a recording that goes on has a log beside it."""
        state: List[object] = []
        for path in (self.path, self.path + "-wal"):
            try:
                seen = os.stat(path)
                state.append((seen.st_mtime_ns, seen.st_size, seen.st_ino))
            except OSError:
                state.append(None)
        return tuple(state)

    def _ask(
        self, command: str, words: Sequence[str], accepted: Sequence[int] = (0,), **how: Any
    ) -> Report:
        if "steps" in how:
            how["steps"] = steps_text(how["steps"])
        arguments = (command, *_command.options(how), "--", self.path, *words)
        state = self._state()
        if state != self._stamp:
            self._answers.clear()
            self._stamp = state
        if arguments not in self._answers:
            self._answers[arguments] = self._answer(arguments, accepted)
        return self._answers[arguments]

    def _answer(self, arguments: Sequence[str], accepted: Sequence[int]) -> Report:
        split = list(arguments).index("--")
        words = [*arguments[:split], "--format", "json", *arguments[split:]]
        answer, status = _command.ask(words, accepted)
        return Report(answer, self.frames, status == 0)

    def report(self, command: str, *words: str, **options: Any) -> Report:
        """Any report of the command: run.report("ladder", device="cuda:0")."""
        return self._ask(command, words, (0,), **options)

    # ---- reports ----

    def peak(self, top: Optional[int] = None, **pick: Any) -> Report:
        """Where the highest point was and who held it: peak, by_category, by_phase, by_site,
        levers, findings, ladder, growth, oom and so on."""
        return self._ask("peak", [], top=top, **pick)

    def levers(self, **pick: Any) -> Any:
        """The changes that lower the peak, those that save most first."""
        return self._ask("peak", [], **pick)["levers"]

    def phases(self, all: bool = False, **pick: Any) -> Any:
        """One row for each phase: allocated at its end, phase peak, duration."""
        return self._ask("phases", [], all=all, **pick)["phases"]

    def live_at(
        self, moment: Optional[Moment] = None, top: Optional[int] = None, **pick: Any
    ) -> Report:
        """What was live at a moment, the peak if none is named: moment, by_category, by_phase,
        by_site."""
        return self._ask("live", words_of(moment), top=top, **pick)

    def modules(
        self, moment: Optional[Moment] = None, depth: Optional[int] = None, **pick: Any
    ) -> Any:
        """What each module of the model held at a moment, the peak if none is named, by kind."""
        return self._ask("modules", words_of(moment), depth=depth, **pick)["modules"]

    def why(
        self,
        a: Optional[Moment] = None,
        b: Optional[Moment] = None,
        top: Optional[int] = None,
        **pick: Any,
    ) -> Report:
        """What changed from a to b, in groups that add up: change, by_category, groups, segments.
        With a alone: from the step before it; with neither: between the last two steps."""
        words = words_of(a)
        if b is not None:
            words = ["%s..%s" % (words[0] if words else "", moment_text(b))]
        return self._ask("why", words, top=top, **pick)

    def leaks(
        self,
        keep: Optional[int] = None,
        warm_up: Optional[int] = None,
        top: Optional[int] = None,
        **pick: Any,
    ) -> Any:
        """What each step leaves behind, by call site and holder."""
        return self._ask("leaks", [], keep=keep, warm_up=warm_up, top=top, **pick)["leaks"]

    def fit(
        self,
        memory: Optional[str] = None,
        gpu: Optional[str] = None,
        reserve: Optional[str] = None,
        table: bool = False,
        settings: Optional[str] = None,
        **pick: Any,
    ) -> Report:
        """The smallest memory that the run survives with, by replaying its requests; with `memory`
        or `gpu`: does it fit, as `passed`."""
        return self._ask(
            "fit",
            [],
            (0, 1),
            memory=memory,
            gpu=gpu,
            reserve=reserve,
            table=table,
            settings=settings,
            **pick,
        )

    def timeline(self, by: Optional[str] = None, **pick: Any) -> Any:
        """Memory over time; by="category": parameters, gradients and so on, at 160 times."""
        if by not in (None, "category"):
            raise ValueError("by is None or 'category', not %r" % (by,))
        name = "timeline" if by is None else "timeline_by_category"
        return self._ask("timeline", [], bytes_by=by, **pick)[name]

    def check(self, **limits: Any) -> Report:
        """Holds the recording against limits, as `tidemark check` does: max_peak="20GiB",
        max_growth, no_oom=True, baseline=... The answer has `passed`."""
        if isinstance(limits.get("baseline"), Run):
            limits["baseline"] = limits["baseline"].path
        return self._ask("check", [], (0, 1), **limits)

    def info(self, **pick: Any) -> Report:
        """The program, its processes, how it ended, what was lost, what recording cost."""
        return self._ask("info", [], **pick)

    def sql(self, question: str) -> Any:
        """What a statement of SQL returns. Of several the last one's rows; run.report("sql",
        question) has all."""
        report = self._ask("sql", [question])
        return report[list(report)[-1]]

    # ---- for people ----

    def page(self, command: str = "peak", *words: str) -> str:
        """The text that `tidemark COMMAND` prints, `peak` where none is named."""
        return _command.run([command, "--", self._shown(), *words])

    def html(self, path: Optional[str] = None, **how: Any) -> str:
        """Writes the page of `tidemark html` and returns its path: by default beside the
        recording."""
        out = os.fspath(path) if path else os.path.splitext(self.path)[0] + ".html"
        _command.run(["html", *_command.options(how), "--output", out, "--", self.path])
        return out

    def show(self, height: int = 640) -> Any:
        """In a notebook: the whole page of `tidemark html` in a frame."""
        from tidemark import _draw

        return _draw.page_frame(self, height)

    def _repr_html_(self) -> str:
        from tidemark import _draw

        return _draw.summary(self)


def open(path: Union[str, "os.PathLike[str]", None] = None, frames: str = "auto") -> Run:
    """A recording; without a path the newest tidemark.*.db of this folder. frames: "pandas",
    "polars" or "dicts"; "auto" takes what the program has imported, else what is installed."""
    words = [] if path is None else [os.path.abspath(os.fspath(path))]
    answer, _ = _command.ask(["info", "--format", "json", "--", *words])
    return Run(os.path.abspath(answer["database"]), frames)
