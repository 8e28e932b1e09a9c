#!/usr/bin/env python3
"""scripts/html-pictures.py TIDEMARK RECORDING.db FOLDER: the pictures of docs/manual/html.md, made anew
by a Chromium without a window: the beginning of the page, memory over time, what lives at the peak, in the
dark, and the largest blocks on a narrow screen."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "html"))
import chromium  # noqa: E402

tidemark, recording, folder = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
browser = chromium.Browser()
with tempfile.TemporaryDirectory() as work:
    made = os.path.join(work, "page.html")
    subprocess.run([tidemark, "html", recording, "-o", made], check=True)
    for name, width, dark, part in (("html-peak", 1280, False, "#summary"),
                                    ("html-timeline", 1280, False, ".over-time"),
                                    ("html-moment", 1280, True, "section:has(#icicle)"),
                                    ("html-narrow", 390, False, "section:has(#blocks)")):
        page = browser.page(width=width, dark=dark, touch=width < 500)
        page.open(made)
        box = page.js("(() => { const r = document.querySelector('%s').getBoundingClientRect();"
                      " return { x: 0, y: r.top + scrollY - 8, width: %d, height: Math.min(r.height + 16, 640) }; })()"
                      % (part, width))
        page.picture(os.path.join(folder, name + ".png"), clip=box)
        page.close()
browser.close()
