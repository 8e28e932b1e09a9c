"""The line of `record` that says how far it is: only on a terminal, replaced in place while the
program is silent, and never on a line of the program's."""
import concurrent.futures
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

TIDEMARK, PROGRAM = sys.argv[1], sys.argv[2]
COLUMNS = 80
LINE = re.compile(r"tidemark: (\d+\.?\d*) m?s  allocated (\S+ \S+)  peak (\S+ \S+)  (\S+) blocks  "
                  r"(\S+) events")


class Screen:
    """As much of a terminal as is needed: 80 columns, and a cursor that goes up and to the left."""

    def __init__(self, text):
        self.lines, self.row, self.column, self.wiped = [""], 0, 0, []
        saved = 0, 0
        for part in re.findall(r"\033\[[0-9;]*[A-Za-z]|\033[78]|[^\033]", text):
            if part == "\0337":
                saved = self.row, self.column
            elif part == "\0338":
                self.row, self.column = saved
            elif part == "\033[A":
                self.row -= 1
            elif part == "\033[K":
                self.wiped.append(self.lines[self.row][self.column:])
                self.lines[self.row] = self.lines[self.row][:self.column]
            elif part == "\r":
                self.column = 0
            elif part == "\n":
                self.down()
            elif len(part) == 1:
                if self.column == COLUMNS:
                    self.column = 0
                    self.down()
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[:self.column] + part + line[self.column + 1:]
                self.column += 1

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")


class Recorded:
    """A program recorded on a terminal: `out`, its stdout, and `text`, what came to the terminal, which
    is stderr, or both. `gates`: {gate of the program: lines that have to be drawn before it opens}."""

    def __init__(self, folder, name, *arguments, options=(), stdout_too=False, term="xterm",
                 gates=None):
        self.gate, self.gates = os.path.join(folder, name), dict(gates or {})
        self.text = b""
        self.open_gates()
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, COLUMNS, 0, 0))
        program = [PROGRAM, *map(str, arguments)] + ([self.gate] if gates else [])
        process = subprocess.Popen(
            [TIDEMARK, "record", "-o", self.gate + ".db", *options, "--", *program], stdin=slave,
            stdout=slave if stdout_too else subprocess.PIPE, stderr=slave,
            env=dict(os.environ, TERM=term))
        os.close(slave)
        self.read(master, process)
        self.out = "" if stdout_too else process.stdout.read().decode()
        self.status = process.wait(900)
        if process.stdout:
            process.stdout.close()
        os.close(master)
        self.text = self.text.decode()

    def open_gates(self):
        drawn = len(LINE.findall(self.text.decode(errors="replace")))
        for gate in [gate for gate, lines in self.gates.items() if lines <= drawn]:
            del self.gates[gate]
            with open("%s.%s" % (self.gate, gate), "w"):
                pass

    def read(self, master, process):
        end = time.monotonic() + 900
        while time.monotonic() < end:
            if select.select([master], [], [], 0.05)[0]:
                try:
                    self.text += os.read(master, 65536)
                except OSError:
                    return
                self.open_gates()
            elif process.poll() is not None:
                return
        process.kill()


ALWAYS = ("--progress", "always")
# All at once: they wait for the seconds that the rules of the line have. Each lasts until there are as
# many lines as the test wants.
RUNS = {
    "usual": dict(arguments=(4, 1200, "quiet"), gates={"0": 0, "1": 0, "2": 0, "3": 3}),
    "both": dict(arguments=(3, 1100), stdout_too=True),
    "dumb": dict(arguments=(3, 1100), term="dumb"),
    "nameless": dict(arguments=(3, 1100), term=""),
    "never": dict(arguments=(3, 1100), options=("--progress", "never")),
    "saying": dict(arguments=(3, 100, "say"), options=ALWAYS, stdout_too=True,
                   gates={"0": 1, "1": 2, "2": 3}),
    "busy": dict(arguments=(900, 1000, "say"), options=ALWAYS, stdout_too=True,
                 gates=dict({str(step): 0 for step in range(900)}, end=1)),
    "silent": dict(arguments=(1, 100, "say"), stdout_too=True, gates={"0": 2}),
}


class Progress(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.pool = concurrent.futures.ThreadPoolExecutor(len(RUNS))
        cls.runs = {name: cls.pool.submit(Recorded, cls.folder, name, *how["arguments"],
                                          **{k: v for k, v in how.items() if k != "arguments"})
                    for name, how in RUNS.items()}

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()
        shutil.rmtree(cls.folder)

    def recorded(self, name):
        run = self.runs[name].result()
        self.assertEqual(run.status, 0, run.text)
        return run.out, run.text

    def check_wiped(self, screen):
        """Nothing but what we wrote ourselves, and what is empty."""
        for line in screen.wiped:
            self.assertTrue(LINE.match(line) or not line.strip(), line)

    def test_one_line_replaced_in_place(self):
        out, text = self.recorded("usual")
        self.assertEqual(out, "the program is done\n")
        drawn = LINE.findall(text)
        self.assertGreaterEqual(len(drawn), 3)
        self.assertEqual(len(drawn) - 1, text.count("\033[A\r\033[K"))
        self.assertGreater(float(drawn[-1][0]), float(drawn[0][0]))
        screen = Screen(text)
        shown = [line for line in screen.lines if LINE.match(line)]
        self.assertEqual(len(shown), 1)
        self.check_wiped(screen)
        self.assertLess(max(map(len, shown)), 80)
        allocated, peak, blocks = drawn[-1][1:4]
        self.assertIn(peak, ("7.0 MiB", "8.0 MiB", "9.0 MiB"))
        self.assertIn(allocated, ("4.0 MiB", "6.0 MiB", "7.0 MiB", "8.0 MiB", "9.0 MiB"))
        self.assertIn(blocks, list("56789"))
        self.assertIn("peak 9.0 MiB allocated", text)

    def test_silent_where_nobody_looks(self):
        done = subprocess.run([TIDEMARK, "record", "-o", os.path.join(self.folder, "nobody.db"), "--",
                               PROGRAM, "3", "1100"], capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0)
        self.assertIsNone(LINE.search(done.stderr))
        self.assertNotIn("\033", done.stderr)
        self.assertEqual(len(done.stderr.strip().split("\n")), 5)

    def test_silent_where_it_is_not_wanted(self):
        for name in ("dumb", "nameless", "never"):
            _, text = self.recorded(name)
            self.assertIsNone(LINE.search(text), name)
            self.assertNotIn("\033", text)
        # Among the program's lines only after five seconds, which its three are on a slow machine.
        _, text = self.recorded("both")
        for drawn in LINE.findall(text):
            self.assertGreaterEqual(float(drawn[0]), 5)

    def test_what_the_program_writes_stays_whole(self):
        _, text = self.recorded("saying")
        screen = Screen(text)
        self.assertGreaterEqual(len(LINE.findall(text)), 3)
        self.check_wiped(screen)
        lines = [line.rstrip() for line in screen.lines]
        for line in ["step %d of the program" % i for i in range(3)] + ["the program is done"]:
            self.assertIn(line, lines)
        for line in screen.lines:
            if "tidemark: " in line:
                self.assertTrue(line.startswith("tidemark: "), line)

    def test_always_beside_a_program_that_never_stops_writing(self):
        _, text = self.recorded("busy")
        screen = Screen(text)
        self.check_wiped(screen)
        lines = [line.rstrip() for line in screen.lines]
        begun = text.count("of the program")
        self.assertGreaterEqual(begun, 2)
        for line in ["step %d of the program" % i for i in range(begun - 1)]:
            self.assertIn(line, lines)
        self.assertTrue([line for line in lines if LINE.match(line)], lines)

    def test_among_the_programs_lines_after_a_long_silence(self):
        _, text = self.recorded("silent")
        drawn = LINE.findall(text)
        self.assertGreaterEqual(len(drawn), 2)
        self.assertGreaterEqual(float(drawn[0][0]), 5)
        lines = [line.rstrip() for line in Screen(text).lines]
        self.assertEqual(lines[0], "step 0 of the program")
        self.assertTrue(LINE.match(lines[1]), lines[1])
        self.assertEqual(lines[2], "the program is done")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
