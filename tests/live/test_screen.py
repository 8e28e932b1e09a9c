"""A look of --follow is never more than the screen, whatever number of processes there is, and a
timeline of a crowd has as many plots as phases has tables."""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import unittest

TIDEMARK, MAKE_CROWD = sys.argv[1], sys.argv[2]
HOME = "\033[2;1H\033[J\033[H\033[K"
RANKS, CROWD, MOST = 8, 60, 24


def crowd(folder, processes, steps):
    path = os.path.join(folder, "crowd-%d.db" % processes)
    subprocess.run([MAKE_CROWD, path, str(processes), "0", str(steps)], check=True,
                   stdout=subprocess.DEVNULL, timeout=900)
    return path


def peaks(path):
    """Process and device to the highest of its phases."""
    text = subprocess.run([TIDEMARK, "sql", path, "-f", "csv",
                           "SELECT process, device, max(phase_peak) FROM phase_table GROUP BY 1, 2"],
                          capture_output=True, text=True, check=True, timeout=900).stdout
    rows = [line.split(",") for line in text.split()[1:]]
    return {(row[0], row[1]): int(row[2]) for row in rows}


def headings(text):
    return re.findall(r" of process (\d+) \(pid \d+[^)]*\) on (\S+)", text)


class Screen(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.ranks = crowd(cls.folder.name, RANKS, 40)
        cls.crowd = crowd(cls.folder.name, CROWD, 2)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def look(self, lines, *arguments):
        """What is on the screen after a finished recording was drawn: all of one look, if no line
        of it scrolled away."""
        environment = dict(os.environ, TERM="xterm", COLUMNS="80", LINES=str(lines), NO_COLOR="1",
                           LC_ALL="C.UTF-8")
        master, slave = pty.openpty()
        process = subprocess.Popen([TIDEMARK, *arguments, "--follow"], stdin=slave, stdout=slave,
                                   stderr=slave, env=environment)
        os.close(slave)
        text = b""
        while process.poll() is None or select.select([master], [], [], 0)[0]:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    text += os.read(master, 65536)
                except OSError:
                    break
        os.close(master)
        self.assertEqual(process.wait(900), 0)
        looks = text.decode().replace("\r\n", "\n").split(HOME)
        self.assertEqual(len(looks), 2, looks)
        drawn = looks[1]
        self.assertTrue(drawn.endswith("\n"))
        self.assertLess(drawn.count("\n"), lines, drawn)
        self.assertLessEqual(max(map(len, drawn.split("\n"))), 80, drawn)
        return drawn

    def test_the_highest_that_fit_are_shown(self):
        highest = peaks(self.ranks)
        for command in ("phases", "timeline"):
            fitted = []
            for lines in (10, 16, 24, 37, 50, 80, 200):
                drawn = self.look(lines, command, self.ranks)
                shown = headings(drawn)
                self.assertGreaterEqual(len(shown), 1, drawn)
                fitted.append(len(shown))
                least = min(highest[scope] for scope in shown)
                hidden = [scope for scope in highest if scope not in shown]
                self.assertLessEqual(max([highest[s] for s in hidden] or [0]), least, drawn)
                note = re.search(r"^(\d+) more not shown: --process, --rank or --device chooses$",
                                 drawn, re.M)
                self.assertEqual(int(note.group(1)) if note else 0, len(hidden), drawn)
            self.assertEqual(fitted, sorted(fitted))
            self.assertEqual(fitted[-1], len(highest))
            self.assertGreater(fitted[4], 1)

    def test_one_that_is_asked_for_has_the_screen(self):
        text = subprocess.run([TIDEMARK, "sql", self.ranks, "-f", "csv",
                               "SELECT process, device FROM phase_table GROUP BY 1, 2"
                               " ORDER BY count(*) DESC LIMIT 1"],
                              capture_output=True, text=True, check=True, timeout=900).stdout
        process, device = text.split()[1].split(",")
        for command in ("phases", "timeline"):
            drawn = self.look(24, command, self.ranks, "--process", process, "--device", device)
            self.assertEqual(headings(drawn), [(process, device)])
            self.assertNotIn("not shown:", drawn)
            self.assertGreater(drawn.count("\n"), 14)

    def test_the_last_rows_are_those_of_the_whole_list(self):
        compared = 0
        for options in ((), ("--all",), ("--steps", "3..9")):
            for process, device in peaks(self.ranks):
                scope = ("--process", process, "--device", device, *options)
                drawn = self.look(24, "phases", self.ranks, *scope).split("\n")
                whole = subprocess.run([TIDEMARK, "phases", self.ranks, *scope], text=True,
                                       capture_output=True, timeout=900).stdout.split("\n")
                if not any(line.startswith("highest:") for line in whole):
                    self.assertFalse(any(line.startswith("highest:") for line in drawn))
                    continue
                end = next(i for i, line in enumerate(drawn) if line.startswith("highest:"))
                self.assertTrue(whole[1].startswith("highest:"))
                whole_end = next(i for i, line in enumerate(whole + [""])
                                 if not line or " between phases " in line)
                rows = [line.split()[:4] for line in drawn[2:end]]
                self.assertGreater(len(rows), 0)
                compared += len(rows)
                self.assertEqual(rows, [line.split()[:4]
                                        for line in whole[whole_end - len(rows):whole_end]])
                self.assertEqual(drawn[end], whole[1])
        self.assertGreater(compared, 200)

    def test_a_crowd_has_so_many_plots(self):
        def run(*arguments):
            return subprocess.run([TIDEMARK, *arguments], capture_output=True, text=True, check=True,
                                  timeout=900, env=dict(os.environ, LC_ALL="C.UTF-8")).stdout
        plots = run("timeline", "--plot", self.crowd)
        self.assertEqual(len(headings(plots)), MOST)
        self.assertEqual(headings(plots), headings(run("phases", self.crowd)))
        self.assertIn("the %d with the highest peaks are shown; " % MOST, plots)
        every = {line.split(",")[0] for line in
                 run("timeline", self.crowd, "--format", "csv").split("\n")[1:] if line}
        self.assertEqual(len(every), CROWD + 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
