"""The line on which a program puts something into a variable: _assigned.py on sources of many kinds."""
import ast
import os
import shutil
import tempfile
import textwrap
import unittest
import warnings

import support

from tidemark import _assigned
from tidemark._assigned import ATTRIBUTE, GLOBAL, LOCAL, Index, Sources

ANY = (ATTRIBUTE, GLOBAL, LOCAL)


def line(name, source, sorts=ANY):
    return Index(ast.parse(textwrap.dedent(source))).line(sorts, name)


class TestShortened(unittest.TestCase):
    def test_what_takes_elements_away(self):
        names = Index(ast.parse(textwrap.dedent("""\
            self.queue = self.queue[-8:]
            del old[0], gone
            first.pop(0); model.last.popleft(); all.clear()
            part = whole[1:]
            one = one[0]
            kept.append(1)
            """))).shorter
        self.assertEqual(names, {"queue", "old", "first", "last", "all"})


class TestKeys(unittest.TestCase):
    SOURCE = """\
        h = {'outs': [], 'losses': []}
        for step in data:
            h['losses'].append(loss)
            h['losses'] = h['losses'][-4:]
            h['outs'].append(out)
            h[name].append(out)
        """

    def test_a_key_has_a_line_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.py")
            with open(file, "w") as out:
                out.write(textwrap.dedent(self.SOURCE))
            sources = Sources([file])
            self.assertEqual(sources.where(file, "h['outs']"), "run.py:5")
            self.assertEqual(sources.where(file, "h['losses']"), "run.py:3")
            self.assertEqual(sources.where(file, "h['other']"), "run.py:3")
            self.assertTrue(sources.shortens(file, "h['losses']"))
            self.assertFalse(sources.shortens(file, "h['outs']"))
            self.assertFalse(sources.shortens(file, "h"))


class TestCarried(unittest.TestCase):
    def carried(self, source, *names):
        index = Index(ast.parse(textwrap.dedent(source)))
        return [name for name in names if name in index.carried]

    def test_what_a_round_takes_over(self):
        self.assertEqual(self.carried("""\
            state = zeros()
            for x in data:
                x = x.to(device)
                out, state = model(x, state)
                out = out.view(-1)
                total += loss(out)
                self.memory = gate * self.memory + z
                self.out = out
                loss = out.loss
                self.logits = logits
            """, "x", "state", "out", "total", "memory", "loss", "logits"), ["state", "total", "memory"])

    def test_each_loop_has_its_own_round(self):
        self.assertEqual(self.carried("""\
            for epoch in range(3):
                hidden = zeros()
                for batch in data:
                    out, hidden = model(batch, hidden)
                    hidden = hidden.contiguous()
            """, "hidden", "out", "batch", "epoch"), ["hidden"])

    def test_many_names_at_once(self):
        names = ["v%d" % i for i in range(2000)]
        source = "for i in x:\n    %s = f(%s)\n" % (", ".join(names), ", ".join(names))
        self.assertEqual(len(self.carried(source, *names)), 2000)

    def test_outside_of_loops_nothing_is(self):
        self.assertEqual(self.carried("h = h + 1\ndef f(h):\n    h = h * 2\n", "h"), [])

    def test_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.py")
            with open(file, "w") as out:
                out.write("h = None\nfor x in data:\n    y, h = cell(x, h)\n")
            sources = Sources([file])
            self.assertTrue(sources.carries(file, "h"))
            self.assertFalse(sources.carries(file, "y"))
            self.assertFalse(sources.carries("", "h"))


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
                       "x[k] += y", "x[k].append(y)", "self.x[0][k] = y"):
            self.assertEqual(line("x", "x = make()\n\ndef f(self, y, k):\n    %s\n" % adding, (LOCAL,))
                             or line("x", "x = make()\n\ndef f(self, y, k):\n    %s\n" % adding,
                                     (ATTRIBUTE,)), 4, adding)

    def test_a_loop_assigns_its_variable(self):
        self.assertEqual(line("x", "x = 1\nfor y, x in z:\n    pass\n"), 2)

    def test_what_is_no_such_line(self):
        for source in ("print(x)", "y = x", "y.append(x)", "x.clear()", "del x", "z[x] = 1", "x: int",
                       "y.x2 = x", "xs += 1"):
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

    def test_a_functions_own_name_is_another(self):
        source = """\
            def evaluate():
                total = 0
                for b in data:
                    total += b
            total = 0
            total = total + 1
            def train():
                global total
                total += 2
            """
        self.assertEqual(line("total", source, (GLOBAL,)), 9)
        self.assertEqual(line("total", source.replace("global", "nonlocal"), (GLOBAL,)), 5)
        self.assertEqual(line("total", source, (LOCAL,)), 4)


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
                                        b"    self.seen.append(3)\nfound = 1\n")
        sources = Sources([first, other])
        self.assertEqual(sources.where(first, "losses"), "train.py:2")
        self.assertEqual(sources.where(first, "trainer.losses"), "train.py:2")
        self.assertEqual(sources.where(first, "trainer.seen"), "trainer.py:4")
        self.assertEqual(sources.where("", "trainer.losses"), "trainer.py:3")
        for path in ("found", "trainer.found", "nowhere"):
            self.assertEqual(sources.where(first, path), "", path)

    def test_a_function_that_still_runs(self):
        first = self.file("train.py", b"def f():\n  kept = []\n  while 1:\n    kept.append(1)\n")
        self.assertEqual(Sources([]).where(first, "kept", True), "train.py:4")
        self.assertEqual(Sources([]).where(first, "kept"), "")

    def test_what_cannot_be_read(self):
        fifo = os.path.join(self.folder, "fifo.py")
        os.mkfifo(fifo)
        names = [self.file("broken.py", b"def ("), self.file("binary.py", b"\0x = 1\n"), fifo,
                 self.file("latin.py", b"# -*- coding: nonsense -*-\nx = 1\n"),
                 self.file("long.py", b"x = 1\n" * 40000), self.folder, "/nowhere/at/all.py"]
        for name in names:
            self.assertEqual(Sources([]).where(name, "x"), "", name)

    def test_a_source_that_was_edited_since(self):
        first = self.file("train.py", b"x = 1\n")
        self.assertEqual(Sources([], os.path.getmtime(first) - 1).where(first, "x"), "")
        self.assertEqual(Sources([], os.path.getmtime(first) + 1).where(first, "x"), "train.py:1")

    def test_no_time_is_left(self):
        sources = Sources([])
        sources.end = 0
        self.assertEqual(sources.where(self.file("train.py", b"x = 1\n"), "x"), "")

    def test_nothing_is_said_of_what_the_source_warns_of(self):
        first = self.file("train.py", b"x = '\\d'\nx is 1\n")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertEqual(Sources([]).where(first, "x"), "train.py:1")
        self.assertEqual(said, [])

    def test_deep_source(self):
        deep = self.file("deep.py", b"x = " + b"(" * 5000 + b")" * 5000 + b"\n")
        self.assertEqual(Sources([]).where(deep, "x"), "")
        long = self.file("sums.py", b"y = 0\n" + b"if y: pass\n" * 5000)
        self.assertEqual(Sources([]).where(long, "y"), "sums.py:1")

    def test_largest(self):
        text = b"x = 1\n" + b"# no more\n" * 20000
        self.assertEqual(Sources([]).where(self.file("a.py", text[:_assigned.LARGEST]), "x"), "a.py:1")
        self.assertEqual(Sources([]).where(self.file("b.py", text[:_assigned.LARGEST + 1]), "x"), "")

    def test_name_with_a_bar(self):
        self.assertEqual(Sources([]).where(self.file("a|b.py", b"x = 1\n"), "x"), "a_b.py:1")


if __name__ == "__main__":
    support.main()
