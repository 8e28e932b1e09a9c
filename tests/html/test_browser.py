"""tests/html/test_browser.py TIDEMARK MAKE_FIXTURE DATA MAKE_RECORDING: pages in a real Chromium, opened
from the disk. That no page asks for anything beyond its own file; that what is drawn is what plain SQL
and the reports say at ten moments; that every part of it answers to hands and keys; and, of the largest
recording, how long the first picture takes and how long frames take while it is moved.

TIDEMARK_HTML_BLOCKS: blocks of the largest recording (300000; 10000000 takes minutes to make).
TIDEMARK_HTML_MORE: further recordings, separated by ':'.
TIDEMARK_HTML_PICTURES: a folder for pictures of the pages."""
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import unittest

import chromium

TIDEMARK, MAKE_FIXTURE, DATA, MAKE_RECORDING = (os.path.abspath(p) for p in sys.argv[1:5])
FIXTURES = ("train", "torch", "gpu", "ranks", "frag", "leaks", "pools", "limit")
BLOCKS = int(os.environ.get("TIDEMARK_HTML_BLOCKS", "300000"))
MORE = [path for path in os.environ.get("TIDEMARK_HTML_MORE", "").split(":") if path]
PICTURES = os.environ.get("TIDEMARK_HTML_PICTURES")

if not chromium.program():
    print("skipped: there is no chromium here")
    sys.exit(77)

# What the page shows of the moment that is looked at, by kinds and in all.
SHOWN = """(() => { const head = document.getElementById('moment'), page = tidemark.shown, view = page.view(0);
  const held = {};
  for (const li of document.querySelectorAll('.over-time .legend li'))
    if (Number(li.dataset.bytes)) held[li.dataset.group] = Number(li.dataset.bytes);
  const all = document.querySelector('#icicle [data-level="0"]');
  const under = [...document.querySelectorAll('#icicle [data-level="1"]')];
  return { seq: Number(head.dataset.seq), bytes: Number(head.dataset.bytes), blocks: Number(head.dataset.blocks), held,
    icicle: Number(all.dataset.bytes), parts: under.reduce((sum, part) => sum + Number(part.dataset.bytes), 0),
    largest: [...document.querySelectorAll('#blocks tr[data-seq]')].map((row) => [Number(row.dataset.seq), Number(row.dataset.bytes)]),
    exact: view.moments.exact, process: view.scope.process, device: view.scope.device, hash: location.hash }; })()"""

LIVING = """SELECT c.category, sum(a.size), count(*) FROM allocation a JOIN allocation_category c ON c.allocation = a.seq
 WHERE a.heap IN (%s) AND a.seq <= ?1 AND (a.free_seq < 0 OR a.free_seq > ?1) GROUP BY 1"""

# Drags the timeline to and fro, a step a frame, and returns the times between frames and of drawing.
PAN = """new Promise((done) => { const line = tidemark.shown.lines[0], axis = line.view.axis;
  axis.show(axis.count * 0.3, axis.count * 0.5); line.draws.length = 0;
  const times = []; let last = null, n = 0;
  const step = (now) => { if (last !== null) times.push(now - last); last = now;
    if (++n > 121) { done({ times, draws: line.draws.slice() }); return; }
    axis.pan((n % 60 < 30 ? 1 : -1) * axis.count * 0.002); line.moved(); requestAnimationFrame(step); };
  requestAnimationFrame(step); })"""


def key(page, name, code=None, shift=False):
    for kind in ("keyDown", "keyUp"):
        text = {"text": name} if len(name) == 1 and kind == "keyDown" else {}
        page.ask("Input.dispatchKeyEvent", type=kind, key=name, code=code or name, modifiers=8 if shift else 0, **text)


def click(page, x, y):
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        page.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=1)


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = chromium.Browser()
        cls.recordings = [os.path.abspath(path) for path in MORE]
        for name in FIXTURES:
            path = os.path.join(cls.folder.name, name + ".db")
            subprocess.run([MAKE_FIXTURE, path, os.path.join(DATA, name + ".sql")], check=True)
            cls.recordings.append(path)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def made(self, *databases):
        name = os.path.basename(databases[0])[:-3] + ("-2" if len(databases) > 1 else "")
        path = os.path.join(self.folder.name, name + ".html")
        subprocess.run([TIDEMARK, "html", *databases, "-o", path], check=True, stdout=subprocess.DEVNULL)
        return path

    def opened(self, path, **how):
        mark = how.pop("mark", "")
        page = self.browser.page(**how)
        self.addCleanup(page.close)
        self.assertIsInstance(page.open(path, mark), (int, float))
        return page

    def check_quiet(self, page):
        self.assertEqual(page.requests(), [])
        self.assertEqual(page.complaints(), [])

    # ---- figures ----

    def check_moment(self, page, db):
        shown = page.js(SHOWN)
        heaps = db.execute("SELECT group_concat(h.id) FROM heap h JOIN device_text d ON d.id = h.device"
                           " WHERE h.process = ? AND d.device = ?", (shown["process"], shown["device"])).fetchone()[0]
        rows = db.execute(LIVING % heaps, (shown["seq"],)).fetchall()
        self.assertEqual(shown["held"], {name: size for name, size, _ in rows if size}, shown["seq"])
        self.assertEqual(shown["bytes"], sum(row[1] for row in rows))
        self.assertEqual(shown["blocks"], sum(row[2] for row in rows))
        self.assertEqual(shown["icicle"], shown["bytes"])
        self.assertEqual(shown["parts"], shown["bytes"])
        sizes = [row[0] for row in db.execute(
            "SELECT size FROM allocation WHERE heap IN (%s) AND seq <= ?1 AND (free_seq < 0 OR free_seq > ?1)"
            " ORDER BY size DESC LIMIT 12" % heaps, (shown["seq"],))]
        self.assertEqual([size for _, size in shown["largest"]], sizes)
        return shown["seq"]

    def check_figures(self, path, page):
        db = sqlite3.connect(path)
        seqs, box = set(), page.js("(() => { const b = document.querySelector('.over-time .chart'); b.scrollIntoView();"
                                   " const r = b.getBoundingClientRect(); return [r.left, r.top, r.width]; })()")
        seqs.add(self.check_moment(page, db))
        for i in range(10):
            click(page, box[0] + 70 + (box[2] - 82) * (i + 0.5) / 10, box[1] + 120)
            seqs.add(self.check_moment(page, db))
        db.close()
        return seqs

    def test_recordings(self):
        for path in self.recordings:
            with self.subTest(os.path.basename(path)):
                page = self.opened(self.made(path))
                peaks = json.loads(subprocess.run([TIDEMARK, "peak", path, "--format", "json"], check=True, capture_output=True).stdout)
                drawn = page.js("Number(document.getElementById('verdict').dataset.bytes)")
                self.assertEqual(drawn, max(row["allocated"] for row in peaks["tables"]["peak"]))
                self.assertGreater(len(self.check_figures(path, page)), 1)
                self.check_quiet(page)
                self.assertEqual(page.js("document.documentElement.scrollWidth"), 1280)

    def test_changes_that_change_results(self):
        page = self.opened(self.made(self.recordings[FIXTURES.index("train") + len(MORE)]))
        seen = """(() => [document.querySelector('#levers h3').textContent,
          ...[...document.querySelectorAll('#levers .lever p')].map((p) => p.firstChild.textContent)])()"""
        rows = "tidemark.page.recordings[0].reports.peak.tables.levers"
        heading, *texts = page.js(seen)
        self.assertEqual(heading, "Changes that lower the peak, best first")
        self.assertEqual([text.startswith("(changes results) ") for text in texts],
                         [bool(changes) for changes in page.js(rows + ".map((row) => row.changes_training)")])
        self.assertIn(True, page.js(rows + ".map((row) => row.changes_training === 1)"))
        # One that saves more than the first and stands behind it for what it changes.
        page.js("(() => { for (const row of %s) if (row.changes_training) row.bytes *= 1000; tidemark.shown.build(); })()" % rows)
        self.assertEqual(page.js(seen)[0], "Changes that lower the peak, same results first")
        self.check_quiet(page)

    def test_narrow_and_dark(self):
        for path in self.recordings:
            for width, dark in ((390, False), (390, True), (1280, True), (1280, False)):
                with self.subTest(os.path.basename(path), width=width, dark=dark):
                    page = self.opened(self.made(path), width=width, dark=dark, touch=width < 500)
                    self.assertLessEqual(page.js("document.documentElement.scrollWidth"), width)
                    # Nothing of a block lies beyond the edge, where a table would have to be moved for it.
                    self.assertGreater(page.js("document.querySelectorAll('#blocks td').length"), 0)
                    self.assertLessEqual(page.js("Math.max(0, ...[...document.querySelectorAll('#blocks td')]"
                                                 ".map((cell) => cell.getBoundingClientRect().right))"), width)
                    if PICTURES:
                        name = "%s-%d%s.png" % (os.path.basename(path)[:-3], width, "-dark" if dark else "")
                        page.picture(os.path.join(PICTURES, name), whole=True)
                    self.check_quiet(page)
                    if path != self.recordings[0] and not PICTURES:
                        break

    def test_two_recordings(self):
        paths = [os.path.join(self.folder.name, name + ".db") for name in ("before", "after")]
        for path in paths:
            subprocess.run([MAKE_FIXTURE, path, os.path.join(DATA, os.path.basename(path)[:-3] + ".sql")], check=True)
        page = self.opened(self.made(*paths))
        said = json.loads(subprocess.run([TIDEMARK, "diff", *paths, "--format", "json"], check=True, capture_output=True).stdout)
        change = next(row["change"] for row in said["tables"]["change"] if row["quantity"] == "allocated")
        self.assertEqual(page.js("Number(document.querySelector('#compare .verdict').dataset.bytes)"), change)
        self.assertEqual(page.js("document.querySelectorAll('.over-time').length"), 2)
        # No figure without the recording that it is of.
        said = page.js("['#verdict', '#growth h2', '#ladder h2', '#segments h2', '.over-time h2'].flatMap((part) =>"
                       " [...document.querySelectorAll(part)].map((one) => one.textContent))")
        self.assertGreater(len(said), 2)
        for text in said:
            self.assertRegex(text, "– (A: before.db|B: after.db)")
        self.check_quiet(page)
        if PICTURES:
            page.picture(os.path.join(PICTURES, "two.png"), whole=True)

    # ---- hands ----

    def test_links_to_a_moment(self):
        path = self.made(self.recordings[-len(FIXTURES)])
        page = self.opened(path)
        page.js("document.querySelector('.over-time .chart').focus()")
        key(page, "ArrowLeft", shift=True)
        shown = page.js(SHOWN)
        self.assertRegex(shown["hash"], r"^#t=[0-9.]+")
        again = self.opened(path, mark=shown["hash"]).js(SHOWN)
        self.assertEqual((again["seq"], again["bytes"]), (shown["seq"], shown["bytes"]))

    def test_keys(self):
        page = self.opened(self.made(self.recordings[-len(FIXTURES)]))
        page.js("document.querySelector('.over-time .chart').focus()")
        seen = "[tidemark.shown.lines[0].view.axis.from, tidemark.shown.lines[0].view.axis.until]"
        whole = page.js(seen)
        key(page, "+")
        near = page.js(seen)
        self.assertLess(near[1] - near[0], whole[1] - whole[0])
        key(page, "ArrowRight")
        self.assertGreater(page.js(seen)[0], near[0])
        key(page, "0")
        self.assertEqual(page.js(seen), whole)
        key(page, "ArrowLeft", shift=True)
        before = page.js(SHOWN)["seq"]
        key(page, "p")
        self.assertNotEqual(page.js(SHOWN)["seq"], before)
        self.assertEqual(page.js("tidemark.shown.view(0).selected"), page.js("tidemark.shown.view(0).peakMoment"))

    def test_ways_to_stack_add_up(self):
        for path in self.recordings:
            page = self.opened(self.made(path))
            for way in page.js("[...document.querySelectorAll('.over-time [data-value]')].map((b) => b.dataset.value)"):
                page.js("document.querySelector('.over-time [data-value=\"%s\"]').click()" % way)
                shown = page.js(SHOWN)
                self.assertEqual(sum(shown["held"].values()), shown["bytes"], (path, way))
            for way in page.js("[...document.querySelectorAll('section:not(.over-time) [data-value]')].map((b) => b.dataset.value)"):
                page.js("document.querySelector('section:not(.over-time) [data-value=\"%s\"]').click()" % way)
                shown = page.js(SHOWN)
                self.assertEqual((shown["icicle"], shown["parts"]), (shown["bytes"], shown["bytes"]), (path, way))
            self.check_quiet(page)

    def test_it_prints(self):
        import base64
        page = self.opened(self.made(self.recordings[-len(FIXTURES)]), dark=True)
        paper = base64.b64decode(page.ask("Page.printToPDF", printBackground=True)["data"])
        self.assertTrue(paper.startswith(b"%PDF") and len(paper) > 10000)

    # Paper is light, the drawings too, if the screen is dark, be it by its own choice or by the button.
    def test_paper_is_light(self):
        seen = """(() => { const canvas = document.querySelector('%s canvas');
          const [r, g, b] = canvas.getContext('2d').getImageData(%s).data;
          return { chart: r + g + b, card: getComputedStyle(document.querySelector('section')).color }; })()"""
        for path in self.recordings:
            page = self.opened(self.made(path), dark=True)
            places = [(".over-time", "2, 2, 1, 1")]
            if page.js("!!document.querySelector('#segments canvas')"):
                # The first segment's, where no block lies, if there is such a place.
                hole = page.js("""(() => { const canvas = document.querySelector('#segments canvas'), g = canvas.getContext('2d');
                  for (let y = 1; y < canvas.height; y += 17) for (let x = 0; x < canvas.width; x++)
                    if (g.getImageData(x, y, 1, 1).data.join() === '48,60,74,255') return x + ', ' + y + ', 1, 1';
                  return null; })()""")
                places += [("#segments", hole)] if hole else []
            for pressed in (False, True):
                if pressed:
                    page.js("document.querySelector('header button').click(); document.querySelector('header button').click()")
                for place in places:
                    dark = page.js(seen % place)
                    page.js("dispatchEvent(new Event('beforeprint'))")
                    paper = page.js(seen % place)
                    page.js("dispatchEvent(new Event('afterprint'))")
                    self.assertGreater(paper["chart"], dark["chart"] + 300, (path, place))
                    self.assertEqual(paper["card"], "rgb(22, 32, 44)")
                    self.assertEqual(page.js(seen % place), dark)

    def test_hostile_names_do_nothing(self):
        path = os.path.join(self.folder.name, "hostile.db")
        subprocess.run([MAKE_FIXTURE, path, os.path.join(DATA, "torch.sql")], check=True)
        db = sqlite3.connect(path)
        text = "</script><script>window.evil=1</script><img src='http://127.0.0.1:9/x' onerror='window.evil=1'>\u2028"
        for statement in ("UPDATE string SET text = ?1 || id", "UPDATE phase SET name = ?1", "UPDATE process SET argv = ?1, host = ?1",
                          "UPDATE device SET name = ?1", "UPDATE tag SET name = ?1 || id", "INSERT INTO module VALUES(1, ?1, ?1)"):
            db.execute(statement, (text,))
        db.execute("UPDATE allocation SET module = 1")
        db.commit()
        db.close()
        page = self.opened(self.made(path))
        for way in page.js("[...document.querySelectorAll('[data-value]')].map((b) => b.dataset.value)"):
            page.js("document.querySelectorAll('[data-value=\"%s\"]').forEach((b) => b.click())" % way)
        page.js("document.querySelectorAll('tr.pick').forEach((row) => row.click())")
        self.assertIsNone(page.js("window.evil"))
        self.assertEqual(page.js("document.querySelectorAll('#page img, #page script').length"), 0)
        self.assertIn("window.evil", page.js("document.body.innerText"))
        self.check_quiet(page)

    # ---- time ----

    def test_a_large_recording(self):
        path = os.path.join(self.folder.name, "large.db")
        subprocess.run([MAKE_RECORDING, path, str(BLOCKS)], check=True)
        made = self.made(path)
        self.assertLess(os.path.getsize(made), 10_000_000)
        page = self.browser.page()
        self.addCleanup(page.close)
        ready = page.open(made)
        got = page.js(PAN)
        print("%d blocks: %.1f MB, first picture %d ms, frames while moving: median %.1f ms, drawing: median %.1f ms" % (
            BLOCKS, os.path.getsize(made) / 1e6, ready, statistics.median(got["times"]), statistics.median(got["draws"])), file=sys.stderr)
        self.assertGreater(len(got["draws"]), 60)
        self.check_figures(path, page)
        self.check_quiet(page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
