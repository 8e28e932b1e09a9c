"""The pytest plugin: docs/pytest.md. A marked test is run by a pytest of its own under `tidemark
record`, its reports are shown as they are, and the recording is held against the limits."""
from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Dict, Generator, List, Optional

import pytest
from _pytest.runner import runtestprotocol

import tidemark
from tidemark import _gate, _record

CHILD = "TIDEMARK_PYTEST_CHILD"  # the file that the reports of a recorded test go to
MARK = "tidemark"
PROPERTY = "tidemark peaks"

# Options that choose tests, stop early or write files: they are the session's, not the child's.
ALONE = "-x --exitfirst --lf --last-failed --ff --failed-first --nf --new-first --sw --stepwise --co".split()
ALONE += "--collect-only --sw-skip --stepwise-skip --tidemark-update --tidemark-keep --pdb --trace".split()
ALONE += "--cache-clear --cov".split()
WITH_VALUE = "-n --numprocesses --dist --maxfail -k -m --junitxml --junit-xml --deselect --tx".split()
WITH_VALUE += "--tidemark-baseline --tidemark-tolerance --ignore --ignore-glob --log-file --durations".split()
WITH_VALUE += "--cov-report --maxprocesses --report-log --html --basetemp --cov-config".split()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tidemark", "memory of tests, by Tidemark")
    group.addoption("--tidemark-baseline", metavar="FILE", help="peaks that tests are compared with")
    group.addoption(
        "--tidemark-tolerance",
        default="2%",
        metavar="PERCENT",
        help="how much higher than the baseline a peak may be (2%%)",
    )
    group.addoption("--tidemark-update", action="store_true", help="write the baseline anew")
    group.addoption("--tidemark-keep", action="store_true", help="keep all recordings, not those of failures only")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "tidemark(max_allocated=SIZE, max_reserved=SIZE, no_leaks=False, no_oom=True, device=NAME, "
        "allow_unknown=False): record the memory of this test and hold it against these limits",
    )
    if os.environ.get(CHILD):
        config.pluginmanager.register(Child(os.environ[CHILD], config), "tidemark-child")
        return
    if config.getoption("tidemark_update") and not config.getoption("tidemark_baseline"):
        raise pytest.UsageError("--tidemark-update needs --tidemark-baseline FILE")
    try:
        plugin = Session(config)
    except (_gate.Misused, OSError) as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(plugin, "tidemark-session")


class Child:
    """In the pytest that one test is run by: its reports go into a file, its call is a phase."""

    def __init__(self, path: str, config: pytest.Config) -> None:
        self.path = path
        self.config = config
        os.environ.pop(CHILD, None)  # a pytest that the test runs is not one

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        with tidemark.phase(item.nodeid):
            yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(data, default=str) + "\n")


class Session:
    """In the pytest that was started by a person."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.recorded = tidemark.recording()
        self.tolerance = _gate.tolerance_of(config.getoption("tidemark_tolerance"))
        self.baseline: Dict[str, Dict[str, int]] = {}
        self.path: Optional[str] = config.getoption("tidemark_baseline")
        if self.path and not config.getoption("tidemark_update"):
            self.baseline = _gate.read_baseline(self.path)
        self.peaks: Dict[str, Dict[str, int]] = {}
        self.unchecked: List[str] = []
        self.unknown: List[str] = []
        self.made: Optional[str] = None

    # ---- running ----

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: Optional[pytest.Item]
    ) -> Optional[bool]:
        if item.get_closest_marker(MARK) is None or self.recorded:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self.run(item, nextitem):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        """In a session that is recorded each test is a phase; elsewhere that does nothing."""
        if self.recorded and item.get_closest_marker(MARK) is not None:
            self.unchecked.append(item.nodeid)
        with tidemark.phase(item.nodeid):
            yield

    def run(
        self, item: pytest.Item, nextitem: Optional[pytest.Item]
    ) -> List[pytest.TestReport]:
        """Its reports, the call's judged. What is skipped for good is not started."""
        if any(item.iter_markers("skip")):
            return runtestprotocol(item, log=False, nextitem=nextitem)
        reports = self.recorded_reports(item)
        try:
            tear_down_before(item, nextitem)
        except Exception as error:
            text = "%s: %s" % (type(error).__name__, error)
            reports.append(failed(item, "teardown", text))
        return reports

    def recorded_reports(self, item: pytest.Item) -> List[pytest.TestReport]:
        try:
            limits = limits_of(item)
        except _gate.Misused as error:
            return [failed(item, "setup", str(error))]
        database = os.path.join(self.folder(), file_of(item.nodeid))
        with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
            answers = os.path.join(folder, "reports")
            done = self.start(item, database, answers)
            reports = self.read(answers)
        if not any(report.when == "teardown" for report in reports):
            reports.append(failed(item, "call", broken(done)))
            return reports
        call = [report for report in reports if report.when == "call" and report.passed]
        if call and not hasattr(call[0], "wasxfail"):
            self.judge(call[0], limits, database)
        if all(report.passed or report.skipped for report in reports) and not self.config.getoption("tidemark_keep"):
            _record.remove(database)
        return reports

    def folder(self) -> str:
        if self.made is None:
            cache = getattr(self.config, "cache", None)
            if cache is not None:
                make = getattr(cache, "mkdir", None) or cache.makedir  # pytest before 7
                self.made = str(make("tidemark"))
            else:
                self.made = tempfile.mkdtemp(prefix="tidemark-pytest-")
        return self.made

    def start(self, item: pytest.Item, database: str, answers: str) -> "subprocess.CompletedProcess[str]":
        _record.remove(database)
        program = [sys.executable, "-m", "pytest", *child_arguments(self.config)]
        program += ["-o", "cache_dir=%s.cache" % answers, item.nodeid]
        values = _record.environment({CHILD: answers})
        for name in [name for name in values if name.startswith("PYTEST_XDIST")]:
            del values[name]
        return _record.execute(
            program,
            database,
            ["--progress", "never"],
            env=values,
            cwd=str(self.config.rootpath),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def read(self, answers: str) -> List[pytest.TestReport]:
        if not os.path.exists(answers):
            return []
        with open(answers, encoding="utf-8") as file:
            data = [json.loads(line) for line in file if line.endswith("\n")]  # it may be killed
        hook = self.config.hook.pytest_report_from_serializable
        return [with_tuples(hook(config=self.config, data=one)) for one in data]

    # ---- judging ----

    def judge(self, report: pytest.TestReport, limits: _gate.Limits, database: str) -> None:
        try:
            run = tidemark.open(database, frames="dicts")
            verdict = _gate.judge(run, limits, report.nodeid)
            problems = verdict.problems + self.compare(report.nodeid, verdict.figures)
            text = _gate.story(run, verdict, database) if problems else ""
        except (tidemark.Refused, tidemark.Unavailable) as error:
            problems, text, verdict = ["the recording cannot be read: %s" % error], "", _gate.Verdict()
        report.user_properties.append((PROPERTY, verdict.figures))
        if problems:
            report.outcome = "failed"
            report.longrepr = "\n".join(["memory: " + problem for problem in problems] + ["", text])

    def compare(self, nodeid: str, figures: Dict[str, int]) -> List[str]:
        if not self.path or self.config.getoption("tidemark_update"):
            return []
        old = self.baseline.get(nodeid)
        return [] if old is None else _gate.judge_baseline(figures, old, self.tolerance)

    # ---- the session's end; with xdist in the process that the workers report to ----

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY and report.when == "call" and isinstance(value, dict) and value:
                self.peaks[report.nodeid] = value
                if self.path and report.nodeid not in self.baseline:
                    self.unknown.append(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if self.config.getoption("tidemark_update") and not hasattr(self.config, "workerinput"):
            assert self.path is not None
            _gate.write_baseline(self.path, self.peaks)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        lines = []
        if self.unchecked:
            lines.append(
                "%d tests with limits are phases of the recording that this session is part of; "
                "their limits were not checked" % len(self.unchecked)
            )
        if self.config.getoption("tidemark_update"):
            lines.append("%d peaks written to %s" % (len(self.peaks), self.path))
        elif self.unknown:
            lines.append("%d tests have no peak in %s yet: --tidemark-update" % (len(self.unknown), self.path))
        if lines:
            terminalreporter.section("tidemark", sep="-")
            for line in lines:
                terminalreporter.line(line)


def tear_down_before(item: pytest.Item, nextitem: Optional[pytest.Item]) -> None:
    """Of the tests before it in this process, what the next one does not need."""
    end = item.session._setupstate.teardown_exact
    if len(inspect.signature(end).parameters) == 1:
        end(nextitem)
    else:  # pytest before 7
        end(item, nextitem)  # type: ignore[call-arg]


def with_tuples(report: pytest.TestReport) -> pytest.TestReport:
    """JSON made lists of what others know as tuples."""
    if isinstance(report.longrepr, list):
        report.longrepr = tuple(report.longrepr)
    file, line, name = report.location
    report.location = (file, line, name)
    report.sections = [(name, text) for name, text in report.sections]
    report.user_properties = [(name, value) for name, value in report.user_properties]
    return report


def limits_of(item: pytest.Item) -> _gate.Limits:
    """Markers of the class and the module count, the nearest one wins for each limit."""
    given: Dict[str, Any] = {}
    for marker in item.iter_markers(MARK):
        if marker.args:
            raise _gate.Misused("limits have names: max_allocated=%r" % (marker.args[0],))
        given = {**marker.kwargs, **given}
    return _gate.Limits(**given)


def file_of(nodeid: str) -> str:
    """A file's name, which no other test has: what is not a letter has to go."""
    import hashlib

    short = re.sub(r"[^A-Za-z0-9.]+", "-", nodeid)[-80:].strip("-.")
    return "%s-%s.db" % (short, hashlib.sha1(nodeid.encode()).hexdigest()[:8])


def child_arguments(config: pytest.Config) -> List[str]:
    """What this pytest was started with, but for what chooses tests and what is the session's."""
    given = list(config.invocation_params.args)
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        given = list(worker["mainargv"][1:])
    paths = set(map(str, config.getoption("file_or_dir") or [])) | set(map(str, config.args))
    kept: List[str] = []
    words = iter(map(str, given))
    before = ""
    for word in words:
        name = word.split("=", 1)[0]
        of_cov = before == "--cov" and not word.startswith("-")  # it may have a value, or none
        before = word
        if of_cov:
            continue
        if name in WITH_VALUE or re.match(r"-[nkm]\S", word):
            if "=" not in word and word == name and not re.match(r"-[nkm]\S", word):
                next(words, None)
        elif name not in ALONE and word not in paths:
            kept.append(word)
    own = ["--rootdir", str(config.rootpath)]
    if config.inipath is not None:
        own += ["-c", str(config.inipath)]
    if config.pluginmanager.hasplugin("xdist"):
        own += ["-n0"]
    if config.pluginmanager.hasplugin("_cov"):
        own += ["--no-cov"]
    if not config.pluginmanager.hasplugin("tidemark"):
        own += ["-p", "tidemark.pytest_plugin"]
    return [*own, *kept]


def failed(item: pytest.Item, when: str, text: str) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr=text,
        when=when,  # type: ignore[arg-type]
    )


def broken(done: "subprocess.CompletedProcess[str]") -> str:
    how = "ended with status %d" % done.returncode
    if done.returncode < 0:
        how = "was killed by signal %d" % -done.returncode
    lines = done.stdout.splitlines()
    if len(lines) > 60:
        lines = [*lines[:30], "...", *lines[-30:]]
    return "\n".join(["the recorded test %s before it had reported; it said:" % how, *lines])
