"""What a recorded test is held against: limits and a baseline. pytest_plugin.py asks; nothing here
knows pytest. Every figure is the command's."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional

from tidemark import _command
from tidemark._run import Run

Row = Dict[str, Any]
STEPS_FOR_LEAKS = 4  # the first does not count, the last two have had no time


class Misused(Exception):
    """A marker whose arguments mean nothing."""


class Limits:
    """The arguments of the marker; what is None is not asked."""

    NAMES = ("max_allocated", "max_reserved", "no_leaks", "no_oom", "device", "allow_unknown")

    def __init__(self, **given: Any) -> None:
        wrong = sorted(set(given) - set(self.NAMES))
        if wrong:
            raise Misused(
                "tidemark has no limit %s: there are %s" % (", ".join(wrong), ", ".join(self.NAMES))
            )
        self.max_allocated: Optional[str] = self.size("max_allocated", given)
        self.max_reserved: Optional[str] = self.size("max_reserved", given)
        self.no_leaks = bool(given.get("no_leaks", False))
        self.no_oom = bool(given.get("no_oom", True))
        self.device: Optional[str] = given.get("device")
        self.allow_unknown = bool(given.get("allow_unknown", False))

    @staticmethod
    def size(name: str, given: Mapping[str, Any]) -> Optional[str]:
        value = given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise Misused("%s is a size such as 2GiB or a number of bytes, not %r" % (name, value))
        return str(value)


class Verdict:
    """problems: one text each, none where the test passed. figures: the peak of the test on each
    device, for a baseline."""

    def __init__(self) -> None:
        self.problems: List[str] = []
        self.figures: Dict[str, int] = {}
        self.worst: Optional[Row] = None  # the phase whose peak was too high


def bytes_text(count: int) -> str:
    from tidemark._draw import bytes_text as text

    return "%s (%d bytes)" % (text(count), count)


def rows_of_test(run: Run, name: str, device: Optional[str]) -> List[Row]:
    """Of each device the test's own phase where it was fullest: several processes can have one of
    that name."""
    fullest: Dict[str, Row] = {}
    for row in run.report("phases", all=True).rows("phases"):
        if row["phase"] != name or row["kind"] != "user" or row["phase_peak"] is None:
            continue
        if device is not None and row["device"] != device:
            continue
        old = fullest.get(row["device"])
        if old is None or row["phase_peak"] > old["phase_peak"]:
            fullest[row["device"]] = row
    return list(fullest.values())


def judged_devices(rows: List[Row], device: Optional[str]) -> List[Row]:
    """Memory of the host is judged where no GPU had a block, or where it is named."""
    gpus = [row for row in rows if not row["device"].startswith("cpu")]
    return rows if device is not None or not gpus else gpus


def limit_bytes(run: Run, limit: str) -> int:
    """A size in bytes, as the command reads it."""
    found: int = run.check(max_peak=limit, allow_unknown=True).rows("checks")[0]["limit"]
    return found


def judge_highest(run: Run, limits: Limits, rows: List[Row], verdict: Verdict) -> None:
    for what, column, limit in (
        ("allocated", "phase_peak", limits.max_allocated),
        ("reserved", "max_reserved", limits.max_reserved),
    ):
        if limit is None:
            continue
        allowed = limit_bytes(run, limit)
        for row in rows:
            measured = row[column]
            if measured is None and not limits.allow_unknown:
                text = "%s: memory %s is not known; allow_unknown=True lets that pass"
                verdict.problems.append(text % (row["device"], what))
            elif measured is not None and measured > allowed:
                text = "%s: %s %s at the highest, the limit is %s"
                words = (row["device"], bytes_text(measured), what, limit)
                verdict.problems.append(text % words)
                verdict.worst = row


def judge_leaks(run: Run, limits: Limits, verdict: Verdict) -> None:
    count = run.report(
        "sql", "SELECT count(DISTINCT step) AS steps FROM phase WHERE step IS NOT NULL"
    ).rows("result")[0]["steps"]
    if count < STEPS_FOR_LEAKS:
        if not limits.allow_unknown:
            text = "no_leaks needs %d steps, the test had %d: tidemark.step(n) begins one"
            verdict.problems.append(text % (STEPS_FOR_LEAKS, count))
        return
    for row in run.report("leaks").rows("leaks"):
        if row["sure"] in ("sure", "likely"):
            verdict.problems.append(leak_text(row))


def leak_text(row: Row) -> str:
    where = row["site_short"] or "a call site that is not known"
    text = "%s: each step leaves %s behind: %s" % (
        row["device"],
        bytes_text(row["bytes_per_step"]),
        where,
    )
    if row.get("holder"):
        text += "; held by %s" % row["holder"]
    if row.get("advice"):
        text += "; %s" % row["advice"]
    return text


def judge_oom(run: Run, verdict: Verdict) -> None:
    for row in run.peak().rows("oom"):
        verdict.problems.append("%s: a request was refused: out of memory" % row["device"])


def judge(run: Run, limits: Limits, name: str) -> Verdict:
    """Holds the recording of a test, whose phase has that name, against its limits."""
    verdict = Verdict()
    rows = rows_of_test(run, name, limits.device)
    if not rows:
        if not limits.allow_unknown:
            where = " on " + limits.device if limits.device else ""
            text = "no memory was reported%s while the test ran; allow_unknown=True lets that pass"
            verdict.problems.append(text % where)
        return verdict
    rows = judged_devices(rows, limits.device)
    verdict.figures = {row["device"]: row["phase_peak"] for row in rows}
    judge_highest(run, limits, rows, verdict)
    if limits.no_leaks:
        judge_leaks(run, limits, verdict)
    if limits.no_oom:
        judge_oom(run, verdict)
    return verdict


def judge_baseline(figures: Mapping[str, int], old: Mapping[str, int], tolerance: float) -> List[str]:
    """Peaks that are higher than they were by more than the tolerance, a part of 1."""
    problems = []
    for device, before in sorted(old.items()):
        now = figures.get(device)
        if now is None:
            problems.append("%s: the baseline has a peak there, this run has none" % device)
        elif now > before * (1 + tolerance):
            more = "%.1f %%" % ((now / before - 1) * 100) if before else "from nothing"
            words = (device, bytes_text(now), bytes_text(before), more)
            problems.append("%s: peak %s, in the baseline %s: more by %s" % words)
    return problems


def tolerance_of(text: str) -> float:
    """"2%" or "0.02" as 0.02."""
    number = text.strip()
    try:
        value = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise Misused("a tolerance is a percentage such as 2%%, not %r" % text) from None
    if not 0 <= value < 100:
        raise Misused("a tolerance is a percentage such as 2%%, not %r" % text)
    return value


def read_baseline(path: str) -> Dict[str, Dict[str, int]]:
    with open(path, encoding="utf-8") as file:
        try:
            tests = json.load(file)["tests"]
            return {
                name: {device: int(peak) for device, peak in peaks.items()}
                for name, peaks in tests.items()
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Misused("%s is no baseline: --tidemark-update writes one" % path) from None


def write_baseline(path: str, tests: Mapping[str, Mapping[str, int]]) -> None:
    """The tests that ran, beside those that are there and did not."""
    all_tests: Dict[str, Mapping[str, int]] = {}
    if os.path.exists(path):
        all_tests.update(read_baseline(path))
    all_tests.update(tests)
    text = json.dumps({"what": "peak allocated in bytes", "tests": all_tests}, indent=1, sort_keys=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text + "\n")
    os.replace(path + ".new", path)


def story(run: Run, verdict: Verdict, path: str) -> str:
    """Behind the problems: who held the memory, and the changes that lower it. It is the page
    of `peak`, or of the test's own highest point where the process was fuller outside the test."""
    highest = max((row["allocated"] for row in run.peak().rows("peak")), default=None)
    worst = verdict.worst
    parts = []
    if worst is not None and worst["phase_peak"] != highest:
        parts.append(_command.run(["modules", "--device", worst["device"], "--depth", "3", "--", path]))
    parts.append(run.page())
    return "\n".join([*parts, "recording: " + path])
