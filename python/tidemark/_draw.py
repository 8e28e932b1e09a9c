"""Pictures of a recording for notebooks: every figure in them was asked from the command."""
from __future__ import annotations

import html
import os
import tempfile
from typing import Any, Dict, List, Sequence, Tuple

from tidemark import _command

Row = Dict[str, Any]

# The kinds in the order of their stack, the lowest first, in the colours of `tidemark html`.
COLOURS = {
    "parameter": "#3f8fd0",
    "copy of parameters (EMA or frozen)": "#8ccbf2",
    "gathered parameters": "#5fb8b0",
    "gradient": "#e2622c",
    "optimizer state": "#1aa37a",
    "bucket": "#8a6bbf",
    "communication buffer": "#b79fd8",
    "activation, held by the program": "#d986b5",
    "activation": "#eaa221",
    "input": "#efe25a",
    "workspace": "#9aa5b1",
    "library workspace": "#6d7885",
    "other": "#c3cad2",
}
UNKNOWN = "#8b93a0"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 300, 78, 14, 22, 26
UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def bytes_text(count: int) -> str:
    for unit, name in UNITS:
        if count >= unit:
            return "%.4g %s" % (count / unit, name)
    return "0 B"


def time_text(ns: float) -> str:
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if abs(ns) >= unit:
            return "%.4g %s" % (ns / unit, name)
    return "%g ns" % ns


def by_scope(rows: Sequence[Row]) -> Dict[Tuple[int, str], List[Row]]:
    scopes: Dict[Tuple[int, str], List[Row]] = {}
    for row in rows:
        scopes.setdefault((row["process"], row["device"]), []).append(row)
    return scopes


class Columns:
    """The rows of one process and device: the times, and of each kind its bytes at these."""

    def __init__(self, rows: Sequence[Row]) -> None:
        at: Dict[Tuple[int, int], Dict[str, int]] = {}
        for row in rows:
            at.setdefault((row["from_ns"], row["at_ns"]), {})[row["category"]] = row["bytes"]
        self.spans = sorted(at)
        self.held = [at[span] for span in self.spans]
        seen = {kind for held in self.held for kind in held}
        known = [kind for kind in COLOURS if kind in seen]
        self.kinds = known + sorted(seen - set(known))
        self.first = self.spans[0][0]
        self.last = max(self.spans[-1][1], self.first + 1)


class Axes:
    """Where a time and a number of bytes stand in the picture."""

    def __init__(self, columns: Columns, most: int) -> None:
        self.columns = columns
        self.most = max(most, 1)

    def x(self, ns: float) -> float:
        part = (ns - self.columns.first) / (self.columns.last - self.columns.first)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, count: float) -> float:
        return HEIGHT - BOTTOM - count / self.most * (HEIGHT - TOP - BOTTOM)


def step_of(most: int) -> int:
    """A round distance of lines: at most five of them, in powers of two."""
    step = 1
    while most // step > 5:
        step *= 2
    return step


def areas(columns: Columns, axes: Axes) -> List[str]:
    """Each kind is one outline: its upper edge from left to right, its lower one back."""
    low = [0] * len(columns.spans)
    drawn = []
    for kind in columns.kinds:
        high = [base + held.get(kind, 0) for base, held in zip(low, columns.held)]
        upper, lower = [], []
        for span, top, bottom in zip(columns.spans, high, low):
            left, right = axes.x(span[0]), axes.x(span[1])
            upper.append("%.1f,%.1f %.1f,%.1f" % (left, axes.y(top), right, axes.y(top)))
            lower.append("%.1f,%.1f %.1f,%.1f" % (right, axes.y(bottom), left, axes.y(bottom)))
        drawn.append(
            '<polygon points="%s %s" fill="%s"><title>%s</title></polygon>'
            % (" ".join(upper), " ".join(reversed(lower)), COLOURS.get(kind, UNKNOWN), html.escape(kind))
        )
        low = high
    return drawn


def grid(axes: Axes) -> List[str]:
    step = step_of(axes.most)
    drawn = []
    for count in range(0, axes.most + 1, step):
        y = axes.y(count)
        drawn.append('<path d="M%d %.1fH%d" class="grid"/>' % (LEFT, y, WIDTH - RIGHT))
        drawn.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (LEFT - 6, y + 4, bytes_text(count)))
    for part in range(5):
        ns = axes.columns.first + (axes.columns.last - axes.columns.first) * part / 4
        anchor = ("start", "middle", "middle", "middle", "end")[part]
        place = (axes.x(ns), HEIGHT - BOTTOM + 17, anchor, time_text(ns))
        drawn.append('<text x="%.1f" y="%d" text-anchor="%s">%s</text>' % place)
    return drawn


def peak_mark(axes: Axes, peak: Row) -> List[str]:
    x, y = axes.x(peak["at_ns"]), axes.y(peak["allocated"])
    anchor = "start" if x < WIDTH / 2 else "end"
    text = "peak " + bytes_text(peak["allocated"])
    if peak["step"] is not None:
        text += ", step %d" % peak["step"]
    if peak["phase"] is not None:
        text += ", " + peak["phase"]
    return [
        '<path d="M%.1f %.1fV%d" class="peak"/><circle cx="%.1f" cy="%.1f" r="3.5" class="dot"/>'
        % (x, y, HEIGHT - BOTTOM, x, y),
        '<text x="%.1f" y="%d" text-anchor="%s" class="strong">%s</text>'
        % (x + (6 if anchor == "start" else -6), TOP - 8, anchor, html.escape(text)),
    ]


STYLE = (
    ".tidemark{font:12px system-ui,sans-serif;color:#16202c;background:#fff;padding:6px;max-width:900px}"
    ".tidemark text{font:11px system-ui,sans-serif;fill:#566372}.tidemark .strong{fill:#16202c;"
    "font-weight:600}.tidemark .grid{stroke:#d5dbe3;fill:none}.tidemark .peak{stroke:#16202c;"
    "stroke-dasharray:3 3;fill:none}.tidemark .dot{fill:#16202c}.tidemark i{display:inline-block;"
    "width:10px;height:10px;margin:0 5px 0 12px}.tidemark pre{font:12px/1.35 ui-monospace,"
    "Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;"
    "color:#16202c;background:#f6f7f9;padding:8px;overflow:auto}"
)


def legend(columns: Columns) -> str:
    return "".join(
        '<span><i style="background:%s"></i>%s</span>' % (COLOURS.get(kind, UNKNOWN), html.escape(kind))
        for kind in columns.kinds
    )


def timeline_svg(rows: Sequence[Row], peak: Row) -> str:
    """The picture of one process on one device: rows of `timeline --bytes-by category`, and the
    row of the peak."""
    columns = Columns(rows)
    axes = Axes(columns, peak["allocated"])
    body = [*areas(columns, axes), *grid(axes), *peak_mark(axes, peak)]
    return '<svg viewBox="0 0 %d %d" width="100%%" role="img" aria-label="memory over time">%s</svg>%s' % (
        WIDTH,
        HEIGHT,
        "".join(body),
        legend(columns),
    )


def fullest(peaks: Sequence[Row]) -> Row:
    """Of the GPUs, if there is one."""
    return max(peaks, key=lambda row: (not row["device"].startswith("cpu"), row["allocated"]))


def summary(run: Any) -> str:
    """What a notebook shows of a run: the timeline of the fullest device, and the page of `peak`."""
    peaks = run.peak().rows("peak")
    parts = []
    if peaks:
        peak = fullest(peaks)
        rows = run.report("timeline", bytes_by="category").rows("timeline_by_category")
        mine = by_scope(rows).get((peak["process"], peak["device"]))
        if mine:
            parts.append(timeline_svg(mine, peak))
    page = html.escape(run.page())
    return '<div class="tidemark"><style>%s</style>%s<pre>%s</pre></div>' % (
        STYLE,
        "".join(parts),
        page,
    )


class Frame:
    """A page inside of a notebook's output; nothing of it can reach the notebook."""

    def __init__(self, text: str, height: int) -> None:
        self.text = text
        self.height = height

    def _repr_html_(self) -> str:
        return (
            '<iframe sandbox="allow-scripts" style="width:100%%;height:%dpx;border:1px solid #d5dbe3"'
            ' srcdoc="%s"></iframe>' % (self.height, html.escape(self.text, quote=True))
        )


def page_frame(run: Any, height: int) -> Frame:
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        path = os.path.join(folder, "page.html")
        _command.run(["html", "--output", path, "--", run.path])
        with open(path, encoding="utf-8") as file:
            return Frame(file.read(), height)
