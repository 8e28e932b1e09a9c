#!/usr/bin/env python3
"""scripts/readme-pictures.py TIDEMARK RECORDING.db FOLDER: the pictures of README.md, made anew of a
rehearsal of samples/torch/gpt2.py: what `tidemark timeline` prints, as an SVG, and the beginning of
the page of `tidemark html`, by a Chromium without a window."""
import base64
import os
import re
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "html"))
import chromium  # noqa: E402

COLUMNS, LINES = 100, 26
WIDTH, HEIGHT, EDGE = 8, 17, 12  # of a cell, and around all of them
INK, PAPER = "#d4d4d4", "#1e1e1e"
# The sixteen colours that a terminal has: black to white, then the bright ones.
COLOURS = ["#1e1e1e", "#e05561", "#8cc265", "#d9a343", "#4aa5f0", "#c162de", "#42b3c2", "#c8c8c8",
           "#7f848e", "#ff616e", "#a5e075", "#f0a45d", "#4dc4ff", "#de73ff", "#4cd1e0", "#ffffff"]
EIGHTHS = " ▁▂▃▄▅▆▇█"


def dressed(style, codes):
    """The style (ink, paper) behind an escape sequence; 1, bold, is not drawn."""
    ink, paper = style
    for code in map(int, codes.split(";")):
        if code == 0:
            ink, paper = INK, None
        elif code % 60 >= 40 or 100 <= code < 108:
            paper = COLOURS[code - 40 if code < 100 else code - 92]
        elif code >= 30:
            ink = COLOURS[code - 30 if code < 90 else code - 82]
    return ink, paper


def runs(line):
    """Of a line of a terminal: column, style and letters of each piece of one style and one kind."""
    style, column = (INK, None), 0
    for piece in re.split(r"(\x1b\[[\d;]*m)", line):
        if piece.startswith("\x1b"):
            style = dressed(style, piece[2:-1] or "0")
            continue
        for found in re.finditer(r"([▁▂▃▄▅▆▇█▒─])\1*|[^▁▂▃▄▅▆▇█▒─]+", piece):
            yield column + found.start(), style, found.group()
        column += len(piece)


def box(column, row, cells, colour, top=0, high=HEIGHT, extra=""):
    return '<rect x="%d" y="%g" width="%d" height="%g" fill="%s"%s/>' % (
        EDGE + column * WIDTH, EDGE + row * HEIGHT + top, cells * WIDTH, high, colour, extra)


def drawn(column, row, style, text):
    ink, paper = style
    if paper:
        yield box(column, row, len(text), paper)
    if text[0] in EIGHTHS[1:]:
        high = HEIGHT * EIGHTHS.index(text[0]) / 8
        yield box(column, row, len(text), ink, HEIGHT - high, high)
    elif text[0] == "▒":
        yield box(column, row, len(text), ink, extra=' opacity="0.55"')
    elif text[0] == "─":
        yield box(column, row, len(text), ink, HEIGHT / 2, 1)
    else:
        for word in re.finditer(r"\S+(?: \S+)*", text):
            yield '<text x="%d" y="%d" fill="%s" textLength="%d">%s</text>' % (
                EDGE + (column + word.start()) * WIDTH, EDGE + row * HEIGHT + 13, ink,
                len(word.group()) * WIDTH, escape(word.group()))


def svg(lines, alt):
    width, height = COLUMNS * WIDTH + 2 * EDGE, len(lines) * HEIGHT + 2 * EDGE
    yield ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img"'
           ' font-family="Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13"'
           ' shape-rendering="crispEdges">' % (width, height, width, height))
    yield "<title>%s</title>" % escape(alt)
    yield '<rect width="%d" height="%d" rx="6" fill="%s"/>' % (width, height, PAPER)
    for row, line in enumerate(lines):
        for run in runs(line):
            yield from drawn(run[0], row, *run[1:])
    yield "</svg>\n"


def timeline(tidemark, recording, path):
    options = ["--device", "cuda:0", "--by", "events", "--bytes-by", "category", "--color", "always"]
    printed = subprocess.run([tidemark, "timeline", recording] + options, check=True, text=True, stdout=subprocess.PIPE,
                             env=dict(os.environ, COLUMNS=str(COLUMNS), LINES=str(LINES), LC_ALL="C.UTF-8")).stdout
    lines = printed.rstrip("\n").split("\n\n", 1)[-1].split("\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(svg(["$ tidemark timeline " + " ".join(options[:-2]), ""] + lines,
                                 "Memory by kind over three training steps, in a terminal")))


def page(tidemark, recording, path):
    browser = chromium.Browser()
    with tempfile.TemporaryDirectory() as work:
        made = os.path.join(work, "page.html")
        subprocess.run([tidemark, "html", recording, "-o", made], check=True)
        shown = browser.page(width=1000)
        shown.open(made)
        picture = shown.ask("Page.captureScreenshot", format="webp", quality=70,
                            clip={"x": 0, "y": 0, "width": 1000, "height": 640, "scale": 1})
        shown.close()
    browser.close()
    with open(path, "wb") as file:
        file.write(base64.b64decode(picture["data"]))


tidemark, recording, folder = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
timeline(tidemark, recording, os.path.join(folder, "readme-timeline.svg"))
page(tidemark, recording, os.path.join(folder, "readme-html.webp"))
