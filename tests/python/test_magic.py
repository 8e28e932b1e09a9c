"""%%tidemark without a notebook: a cell is run in a process of its own, recorded, and opened."""
import contextlib
import importlib.util
import io
import os
import signal
import subprocess
import sys
import unittest

import support

import tidemark
from tidemark import _magic


class Shell:
    def extract_input_lines(self, cells):
        return "number = 41\n" if cells == "1" else ""


def cell(text, *words):
    """The Run, or the exception, and what stood on stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    os.chdir(support.WORK)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            result = _magic.run_cell(Shell(), _magic.parser().parse_args(words), text)
        except (RuntimeError, _magic.Usage) as error:
            result = error
    return result, out.getvalue(), err.getvalue()


class Cell(unittest.TestCase):
    def test_a_cell(self):
        text = "import tidemark\nwith tidemark.phase('mine'):\n    print('said', number + 1)\n"
        run, out, err = cell(text, "-o", "cell.db", "--force", "--cells", "1")
        self.assertIsInstance(run, tidemark.Run, run)
        self.assertIn("said 42\n", out)
        self.assertEqual(err, "")
        self.assertIn("tidemark: recorded into cell.db", out)
        asked = run.report("sql", "SELECT count(*) AS n FROM phase WHERE name = 'mine'")
        self.assertEqual(asked.rows("result"), [{"n": 1}])
        refused, _, _ = cell(text, "-o", "cell.db")
        self.assertIsInstance(refused, _magic.Usage)

    @unittest.skipIf(importlib.util.find_spec("IPython") is None, "this Python has no IPython")
    def test_a_failing_cell(self):
        failed, out, err = cell("1 / 0\n", "-o", "failed.db", "--force")
        self.assertIsInstance(failed, RuntimeError)
        self.assertIn("status 1", str(failed))
        self.assertIn("ZeroDivisionError", err)

    def test_an_interrupt_is_the_cells(self):
        """Its process gets it, says so, and the recording is whole."""
        program = (
            "import os, sys; sys.path[:0] = %r\n"
            "from tidemark import _magic\n"
            "text = 'import time; print(1, flush=True)\\ntry: time.sleep(600)\\n'\n"
            "text += \"except KeyboardInterrupt: print('was interrupted')\"\n"
            "asked = _magic.parser().parse_args(['-o', 'stopped.db', '--force'])\n"
            "print(_magic.run_cell(None, asked, text).info().rows('recording')[0]['ended'])\n"
        ) % [os.path.join(support.SOURCE, "python")]
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", program], stdout=subprocess.PIPE, cwd=support.WORK
        )
        self.assertEqual(process.stdout.readline(), b"1\n")
        process.send_signal(signal.SIGINT)
        said = process.communicate()[0].decode()
        self.assertIn("was interrupted\n", said)
        self.assertTrue(said.endswith("exit 0\n"), said)

    def test_misused(self):
        for words in (("--nonsense",), ("-o",)):
            with self.assertRaises(_magic.Usage):
                _magic.parser().parse_args(words)
        refused, _, _ = cell("", "-o", "none.db", "--cells", "7-9")
        self.assertIsInstance(refused, _magic.Usage)

    def test_what_cannot_start(self):
        failed, _, _ = cell("", "-o", "none.db", "--force", "--python", "/nonexistent/python")
        self.assertIsInstance(failed, RuntimeError)


if __name__ == "__main__":
    support.main()
