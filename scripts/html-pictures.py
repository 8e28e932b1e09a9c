#!/usr/bin/env python3
"""scripts/html-pictures.py TIDEMARK RECORDING.db FOLDER: the pictures of docs/manual/html.md, made anew
by a Chromium without a window: the beginning of the page, and what lives at the peak, in the dark."""
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
    for name, dark, part in (("html-peak", False, "#summary"), ("html-timeline", False, ".over-time"), ("html-moment", True, "section:has(#icicle)")):
        page = browser.page(width=1000, dark=dark)
        page.open(made)
        box = page.js("(() => { const r = document.querySelector('%s').getBoundingClientRect();"
                      " return { x: 0, y: r.top + scrollY - 8, width: 1000, height: Math.min(r.height + 16, 520) }; })()" % part)
        page.picture(os.path.join(folder, name + ".png"), clip=box)
        page.close()
browser.close()
