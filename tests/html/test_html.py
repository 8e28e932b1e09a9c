"""tests/html/test_html.py TIDEMARK MAKE_FIXTURE DATA PAGE: the data of pages, read by a second reader
(page.py) and compared with what the reports and plain SQL say; and that nothing of a recording gets
into the page but as base64."""
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import page

TIDEMARK, MAKE_FIXTURE, DATA, PAGE = (os.path.abspath(p) for p in sys.argv[1:5])

# What a recording can say to a page: in names of phases, functions, files, modules, tags, devices,
# programs and hosts.
HOSTILE = [
    "</script><script>document.title='broken'</script>", "<!--<script>", "]]>", "<img src=x onerror=alert(1)>",
    "\"'`${alert(1)}", "&lt;b&gt;&#x3c;", "\u2028\u2029", "\u202eevil\u202c", "\x01\x1b[31m\x7f\x9b", "@DATA@@SCRIPT@",
    "{\"a\":1}\\u003c", "=HYPERLINK(1)", "javascript:alert(1)", "\U0001f9e0 \ufeff \ufffd", "a" * 3_000_000,
]


def run(*arguments, code=0):
    got = subprocess.run([TIDEMARK, *arguments], capture_output=True)
    assert got.returncode == code, (arguments, got.returncode, got.stderr.decode())
    return got.stdout


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def asked(command, path, *more):
    return json.loads(run(command, path, "--format", "json", *more))


class Html(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def fixture(self, name):
        path = self.at(name + ".db")
        if os.path.exists(path):
            os.unlink(path)
        subprocess.run([MAKE_FIXTURE, path, os.path.join(DATA, name + ".sql")], check=True)
        return path

    def made(self, *databases):
        run("html", *databases, "-o", self.at("page.html"))
        return page.load(self.at("page.html"))

    # ---- figures ----

    def check_reports(self, path, recording):
        for command, top in (("peak", ("--top", "30")), ("leaks", ("--top", "20")), ("frag", ("--top", "20")), ("ladder", ())):
            said = asked(command, path, *top)
            self.assertEqual(recording["reports"][command]["tables"], said["tables"], command)
            self.assertEqual(recording["reports"][command]["notes"], said["notes"], command)

    def check_scope(self, path, made, recording, scope):
        key = lambda row: row["process"] == scope["process"] and row["device"] == scope["device"]
        peak = next(row for row in recording["reports"]["peak"]["tables"]["peak"] if key(row))
        self.assertEqual(scope["course"]["peak"], peak["allocated"])
        held = page.living(scope["moments"], scope["course"]["peak_seq"])
        self.assertEqual(sum(size for size, _ in held.values()), peak["live_bytes"])
        self.assertEqual(sum(blocks for _, blocks in held.values()), peak["live_blocks"])
        kinds = {}
        for place, (size, blocks) in held.items():
            name = made["purposes"][scope["moments"]["classes"][place]["purpose"]]
            old = kinds.get(name, (0, 0))
            kinds[name] = (old[0] + size, old[1] + blocks)
        self.assertEqual({name: both for name, both in kinds.items() if both[1]},
                         {row["category"]: (row["bytes"], row["blocks"])
                          for row in recording["reports"]["peak"]["tables"]["by_category"] if key(row)})

    def check_moments(self, path, made, scope):
        db = sqlite3.connect(path)
        heaps = [row[0] for row in db.execute(
            "SELECT h.id FROM heap h JOIN device_text d ON d.id = h.device WHERE h.process = ? AND d.device = ?",
            (scope["process"], scope["device"]))]
        last = db.execute("SELECT max(max(seq), max(free_seq)) FROM (SELECT seq, free_seq FROM allocation)").fetchone()[0]
        moments = scope["moments"]
        seqs = [seq for seq, _, _ in moments["moments"]] or [random.Random(1).randint(1, last) for _ in range(10)]
        for seq in random.Random(2).sample(seqs, min(10, len(seqs))):
            held = page.living(moments, seq)
            want = db.execute("SELECT coalesce(sum(size), 0), count(*) FROM allocation WHERE heap IN (%s) AND seq <= ?"
                              " AND (free_seq < 0 OR free_seq > ?)" % ",".join(map(str, heaps)), (seq, seq)).fetchone()
            self.assertEqual((sum(a for a, _ in held.values()), sum(b for _, b in held.values())), want, seq)
        for place, phase in enumerate(scope["phases"]):
            if phase["end_seq"] is None or phase["allocated"] is None or not moments["exact"]:
                continue
            self.assertLess(phase["kind"], len(made["kinds"]), place)
        db.close()

    def check(self, path):
        made = self.made(path)
        recording = made["recordings"][0]
        self.check_reports(path, recording)
        for scope in recording["scopes"]:
            if scope["drawn"] and any(row["process"] == scope["process"] for row in recording["reports"]["peak"]["tables"]["peak"]):
                self.check_scope(path, made, recording, scope)
                self.check_moments(path, made, scope)
        return made

    def test_recordings_of_every_sort(self):
        for name in ("train", "torch", "gpu", "ranks", "frag", "leaks", "pools", "twogpus", "limit", "thinned", "stopped"):
            with self.subTest(name):
                made = self.check(self.fixture(name))
                if name not in ("twogpus", "stopped"):  # of these only the driver's memory is known
                    self.assertTrue(any(scope["drawn"] for scope in made["recordings"][0]["scopes"]))

    def test_a_recording_without_blocks(self):
        for name in ("silent", "unheard"):
            self.assertEqual(len(self.made(self.fixture(name))["recordings"]), 1)

    def test_each_kind_has_a_colour(self):
        made, text = self.made(self.fixture("train")), bytes_of(PAGE).decode()
        for palette, names in (("PURPOSE_COLOURS", made["purposes"]), ("KIND_COLOURS", made["kinds"])):
            colours = re.findall(r"#[0-9a-f]{6}", re.search(palette + r" = \[(.*?)\]", text, re.S)[1])
            self.assertEqual(len(colours), len(names), palette)
            self.assertEqual(len(set(colours)), len(names), palette)

    def test_two_recordings(self):
        before, after = self.fixture("before"), self.fixture("after")
        made = self.made(before, after)
        self.assertEqual([recording["name"] for recording in made["recordings"]], ["before.db", "after.db"])
        self.assertEqual(made["recordings"][0]["reports"]["diff"]["tables"], asked("diff", before, after, "--top", "30")["tables"])

    # ---- hostile ----

    def hostile(self, text):
        path = self.fixture("torch")
        db = sqlite3.connect(path)
        for statement in ("UPDATE string SET text = ?1 || id", "UPDATE phase SET name = ?1", "UPDATE process SET argv = ?1, host = ?1",
                          "UPDATE device SET name = ?1", "UPDATE tag SET name = ?1 || id",
                          "INSERT INTO module VALUES(1, ?1, ?1)", "UPDATE allocation SET module = 1"):
            db.execute(statement, (text,) if "?1" in statement else ())
        db.commit()
        db.close()
        return path

    def test_nothing_of_a_recording_is_markup(self):
        before, _, after = None, None, None
        template = bytes_of(PAGE).decode().split("@DATA@")
        for text in HOSTILE:
            with self.subTest(text[:20]):
                self.made(self.hostile(text))
                before, data, after = page.split(self.at("page.html"))
                self.assertEqual([before, after.rstrip()], [template[0], template[1].rstrip()])
                self.assertRegex(data, r"\A[A-Za-z0-9+/]+=*\Z")
                self.assertLess(os.path.getsize(self.at("page.html")), 2_000_000)
                for place in page.load(self.at("page.html"))["recordings"][0]["texts"]:
                    self.assertLess(len(place.encode()), 500)
                    self.assertIsNone(re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", place))

    def test_bytes_that_are_no_text(self):
        path = self.fixture("torch")
        db = sqlite3.connect(path)
        db.execute("UPDATE string SET text = CAST(x'ff3cfe2f80' AS TEXT)")
        db.commit()
        db.close()
        self.made(path)

    # ---- files ----

    def test_the_page_stands_beside_the_recording(self):
        path = self.fixture("train")
        run("html", path)
        self.assertTrue(os.path.exists(self.at("train.html")))
        self.assertFalse(os.path.exists(self.at("train.html.new")))

    def test_to_stdout(self):
        self.assertTrue(run("html", self.fixture("train"), "-o", "-").startswith(b"<!doctype html>"))

    def test_a_recording_is_not_overwritten(self):
        path = self.fixture("train")
        before = bytes_of(path)
        run("html", path, "-o", path, code=2)
        self.assertEqual(bytes_of(path), before)

    def test_where_nothing_can_be_written(self):
        run("html", self.fixture("train"), "-o", self.at("no/such/page.html"), code=4)
        run("html", self.fixture("train"), "-o", "/dev/full", code=4)

    def test_what_is_no_recording(self):
        for text in (b"", b"nothing", b"SQLite format 3\0" + b"x" * 4000):
            path = self.at("bad.db")
            with open(path, "wb") as file:
                file.write(text)
            run("html", path, "-o", self.at("page.html"), code=3)
            self.assertFalse(os.path.exists(self.at("page.html")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
