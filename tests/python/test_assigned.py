"""The line on which a program puts something into a variable: _assigned.py on sources of many kinds."""
import ast
import os
import shutil
import tempfile
import textwrap
import unittest

import support

from tidemark._assigned import Sources, line_in


def line(leaf, source):
    return line_in(ast.parse(textwrap.dedent(source)), leaf)


class TestLines(unittest.TestCase):
    def test_a_sum_stands_before_its_first_value(self):
        self.assertEqual(line("total", """\
            total = 0
            for batch in data:
                loss = step(batch)
                total += loss
            """), 4)

    def test_a_state_that_is_unpacked_in_a_loop(self):
        self.assertEqual(line("h", """\
            h = None
            while more():
                y, (*h, c) = model(x, h)
            h = None
            """), 3)

    def test_ways_to_add(self):
        for adding in ("x.append(y)", "x[k] = y", "x.setdefault(k, y)", "self.x.add(y)", "x += [y]",
                       "self.x[0][k]: int; self.x[k] = y"):
            self.assertEqual(line("x", "x = make()\n\ndef f(self, x, y, k):\n    %s\n" % adding), 4,
                             adding)

    def test_what_is_no_such_line(self):
        for source in ("print(x)", "y = x", "y.append(x)", "x.clear()", "other.xs += 1", "x: int"):
            self.assertEqual(line("z", source), 0)
        for source in ("print(x)", "y = x", "y.append(x)", "x.clear()", "del x", "z[x] = 1"):
            self.assertEqual(line("x", source), 0, source)

    def test_a_cached_function(self):
        self.assertEqual(line("table", """\
            import functools
            @functools.lru_cache(maxsize=None)
            def table(n):
                return n
            """), 3)

    def test_of_two_in_loops_the_first(self):
        self.assertEqual(line("x", "for a in b:\n    x.append(a)\nfor a in b:\n    x.append(a)\n"), 2)


class TestSources(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, name, source):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as out:
            out.write(source)
        return path

    def test_own_file_then_others(self):
        first = self.file("train.py", b"losses = []\nlosses.append(1)\n")
        other = self.file("trainer.py", b"class T:\n  def f(self):\n    self.losses.append(2)\n"
                                        b"    self.seen.append(3)\n")
        sources = Sources([first, other])
        self.assertEqual(sources.where(first, "losses"), "train.py:2")
        self.assertEqual(sources.where(first, "trainer.seen"), "trainer.py:4")
        self.assertEqual(sources.where("", "trainer.losses"), "train.py:2")
        self.assertEqual(sources.where(first, "nowhere"), "")

    def test_what_cannot_be_read(self):
        names = [self.file("broken.py", b"def ("), self.file("binary.py", b"\0x = 1\n"),
                 self.file("latin.py", b"# -*- coding: nonsense -*-\nx = 1\n"),
                 self.file("long.py", b"x = 1\n" * 200000), self.folder, "/nowhere/at/all.py"]
        self.assertEqual(Sources(names).where(names[0], "x"), "")

    def test_deep_source(self):
        deep = self.file("deep.py", b"x = " + b"(" * 5000 + b")" * 5000 + b"\n")
        sums = self.file("sums.py", b"y = 0\ny = 1" + b" + 1" * 20000 + b"\n")
        sources = Sources([deep, sums])
        self.assertIn(sources.where(deep, "y"), ("", "sums.py:1"))

    def test_name_with_a_bar(self):
        self.assertEqual(Sources([]).where(self.file("a|b.py", b"x = 1\n"), "x"), "a_b.py:1")


if __name__ == "__main__":
    support.main()
