"""--follow on a recording that grows: what it told in all is what the report says at the end, it ends
by itself, and Ctrl-C ends it without a failure."""
import csv
import io
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TIDEMARK, PROGRAM = sys.argv[1], sys.argv[2]
MANY = 18000  # steps: a quarter of an hour
HOME = "\033[2;1H\033[J\033[H\033[K"  # not all at once: terminals keep what is cleared so


def report(*arguments):
    done = subprocess.run([TIDEMARK, *arguments], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def program_of(recorder):
    """Its child that is not the witness (recorder/run/witness.h)."""
    with open("/proc/%d/task/%d/children" % (recorder.pid, recorder.pid)) as children:
        for child in children.read().split():
            with open("/proc/%s/comm" % child) as name:
                if name.read().strip() != "signal-witness":
                    return int(child)
    raise AssertionError("the program has gone")


class Live(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "run.db")
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.terminate()  # a recorder takes its program along
            process.communicate()
        shutil.rmtree(self.folder)

    def start(self, command, **options):
        process = subprocess.Popen(command, **options)
        self.started.append(process)
        return process

    def record(self, steps, milliseconds, *options):
        """Returns when the first commit is there. The last step goes on at self.let_go(), if there
        are not so many that nobody sees the last."""
        self.gate, self.last = os.path.join(self.folder, "gate-%d" % len(self.started)), steps - 1
        gate = [self.gate] if steps < MANY else []
        for step in range(self.last if gate else 0):
            self.open_gate(step)
        process = self.start([TIDEMARK, "record", "-o", self.path, *options, "--", PROGRAM, str(steps),
                              str(milliseconds), "quiet", *gate],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(18000):
            if os.path.exists(self.path) and subprocess.run(
                    [TIDEMARK, "sql", self.path, "-f", "csv", "SELECT count(*) FROM allocation"],
                    capture_output=True, text=True).stdout.split("\n")[1:2] > ["0"]:
                return process
            time.sleep(0.05)
        self.fail("nothing was committed")

    def open_gate(self, step):
        with open("%s.%d" % (self.gate, step), "w"):
            pass

    def let_go(self):
        self.open_gate(self.last)

    def until_told(self, process, word):
        """Reads until there is such a line; returns what it read."""
        text = ""
        while word not in text:
            line = process.stdout.readline()
            self.assertTrue(line, text)
            text += line
        return text

    def follow(self, *arguments, **options):
        return self.start([TIDEMARK, arguments[0], self.path, "--follow", *arguments[1:]],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def test_rows_are_told_once_and_all_of_them(self):
        recorder = self.record(12, 250)
        followers = {name: self.follow(name, "-f", "csv") for name in ("phases", "timeline")}
        live = self.start([TIDEMARK, "peak", self.path], stdout=subprocess.PIPE, text=True)
        self.assertIn("not finished", live.communicate(timeout=900)[0])
        self.assertEqual(live.returncode, 0)
        self.let_go()
        self.assertEqual(recorder.wait(900), 0)
        for name, process in followers.items():
            out, err = process.communicate(timeout=900)
            self.assertEqual((process.returncode, err), (0, ""), name)
            told, whole = rows(out), rows(report(name, self.path, "-f", "csv"))
            self.assertEqual(told[0], whole[0])
            if name == "phases":
                self.assertEqual(sorted(told), sorted(whole))
                self.assertEqual(len(told), len(set(map(tuple, told))))
                self.assertGreater(len(told), 36)
            else:
                ends = [int(row[2]) for row in told[1:]]
                self.assertEqual(ends, sorted(set(ends)))
                self.assertEqual(ends[-1], int(whole[-1][2]))
                self.assertEqual(told[-1][3], whole[-1][3])
        self.assertFalse(os.path.exists(self.path + "-wal"), "a reader was in the way")

    def test_phases_come_while_the_program_runs(self):
        recorder = self.record(40, 250)
        process = self.follow("phases", "-f", "csv")
        told = [process.stdout.readline() for _ in range(4)]
        self.assertIsNone(recorder.poll())
        self.assertIn("forward", "".join(told))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=900)
        self.assertEqual((process.returncode, err), (0, ""))
        self.assertIsNone(recorder.poll(), "it was not ours to end")
        recorder.terminate()

    def test_it_ends_when_the_recorder_was_killed(self):
        for options in ((), ("--private",)):
            recorder = self.record(20, 100, *options)
            followers = [self.follow(name) for name in ("timeline", "phases")]
            begun = [self.until_told(process, "cpu") for process in followers]
            program = program_of(recorder)
            recorder.kill()
            recorder.wait(900)
            os.kill(program, signal.SIGKILL)
            for process, first in zip(followers, begun):
                out, err = process.communicate(timeout=900)
                out = first + out
                self.assertEqual((process.returncode, err), (0, ""))
                self.assertEqual(out.count("not finished"), 1, out)
                self.assertGreater(out.count("cpu"), 1)
            os.unlink(self.path)

    def test_json_is_whole_when_it_has_ended(self):
        import json
        self.record(6, 200)
        process = self.follow("phases", "-f", "json")
        self.let_go()
        out, _ = process.communicate(timeout=900)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(json.loads(out)["tables"]["phases"],
                         json.loads(report("phases", self.path, "-f", "json"))["tables"]["phases"])

    def test_a_reader_that_goes_away_ends_it(self):
        self.record(MANY, 50)
        process = self.follow("phases", "-f", "csv")
        process.stdout.readline()
        process.stdout.close()
        for _ in range(18000):
            if process.poll() is not None:
                break
            time.sleep(0.05)
        self.assertIsNotNone(process.poll())
        process.stdout = None
        self.started[0].terminate()

    def test_it_waits_for_a_recording_that_is_not_there_yet(self):
        narrowed = ("--device", "cpu", "--process", "1")
        followers = {name: self.follow(name, "-f", "csv", *narrowed) for name in ("phases", "timeline")}
        for process in followers.values():
            self.assertEqual(process.stderr.readline(),
                             f"tidemark: waiting for {self.path}: there is no such recording yet; Ctrl-C ends\n")
        open(self.path, "w").close()  # as the recorder makes it: without a byte at first
        newest = self.start([TIDEMARK, "phases", "--follow", "-f", "csv"], cwd=self.folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn("waiting for a tidemark.*.db in this folder", newest.stderr.readline())
        os.unlink(self.path)
        self.record(3, 100)
        self.let_go()
        for name, process in followers.items():
            out, err = process.communicate(timeout=900)
            self.assertEqual((process.returncode, err), (0, ""), name)
            self.assertEqual(rows(out)[0], rows(report(name, self.path, "-f", "csv"))[0])
            self.assertGreater(len(rows(out)), 1)
        os.link(self.path, os.path.join(self.folder, "tidemark.1.db"))
        out, err = newest.communicate(timeout=900)
        self.assertEqual((newest.returncode, err), (0, "tidemark: reading tidemark.1.db\n"))
        self.assertEqual(sorted(rows(out)), sorted(rows(report("phases", self.path, "-f", "csv"))))

    def test_waiting_ends_as_following_does(self):
        for name in ("phases", "timeline"):
            process = self.follow(name)
            self.assertIn("waiting", process.stderr.readline())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=900), ("", ""))
            self.assertEqual(process.returncode, 0)
            nowhere = subprocess.run([TIDEMARK, name, "--follow", os.path.join(self.folder, "no", "run.db")],
                                     capture_output=True, text=True, timeout=900)
            self.assertEqual((nowhere.returncode, nowhere.stdout), (3, ""))

    def test_what_does_not_come_any_more_is_a_mistake(self):
        recorder = self.record(2, 20)
        self.let_go()
        self.assertEqual(recorder.wait(900), 0)
        for option in ("--device=cuda:7", "--process=99"):
            done = subprocess.run([TIDEMARK, "phases", self.path, "--follow", option],
                                  capture_output=True, text=True, timeout=900)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_before_the_first_block_a_look_says_that_it_waits(self):
        recorder = self.start([TIDEMARK, "record", "-o", self.path, "--", "sleep", "600"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(18000):
            if os.path.exists(self.path) and os.path.getsize(self.path):
                break
            time.sleep(0.05)
        for command in (("timeline",), ("phases", "--device", "cuda:0")):
            for picture in self.on_terminal(*command)[1:4]:
                self.assertIn("waiting: no memory was reported so far", picture)
                self.assertEqual(len(picture.strip().split("\n")), 1, picture)
        recorder.terminate()

    def on_terminal(self, *arguments):
        """What it drew until it ended, or until Ctrl-C after five pictures."""
        master, slave = pty.openpty()
        environment = dict(os.environ, TERM="xterm", COLUMNS="80", LINES="24", NO_COLOR="1",
                           LC_ALL="C.UTF-8")
        process = self.start([TIDEMARK, *arguments, self.path, "--follow"], stdin=slave,
                             stdout=slave, stderr=slave, env=environment)
        os.close(slave)
        text = b""
        end = time.monotonic() + 900
        while time.monotonic() < end and text.count(HOME.encode()) < 5:
            if select.select([master], [], [], 0.2)[0]:
                try:
                    text += os.read(master, 65536)
                except OSError:
                    break
        process.send_signal(signal.SIGINT)
        code = None
        while time.monotonic() < end and code is None:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    text += os.read(master, 65536)
                except OSError:
                    pass
            code = process.poll()
        os.close(master)
        self.assertEqual(code, 0)
        self.assertTrue(text.endswith(b"\r\n\r\n"), text[-200:])
        return text.decode().replace("\r\n", "\n").split(HOME)

    def test_pictures_are_drawn_anew(self):
        recorder = self.record(MANY, 50)
        for command in ("timeline", "phases"):
            pictures = self.on_terminal(command)
            self.assertEqual(pictures[0], "")
            self.assertGreaterEqual(len(pictures), 5)
            for picture in pictures[1:3]:
                lines = picture.rstrip("\n").split("\n")
                self.assertLess(len(lines), 24, picture)
                self.assertLessEqual(max(map(len, lines)), 80, picture)
                self.assertIn("peak" if command == "timeline" else "highest", picture)
                self.assertNotIn("not finished", picture)
            self.assertNotEqual(pictures[1], pictures[4])
        recorder.terminate()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
