"""Job control: a shell sees the job stopped exactly when the program is, recorded or not.

Each case is a session of its own with a terminal of its own. Its leader plays the shell: it waits
for its job with WUNTRACED and WCONTINUED, and compares what it saw with what it sees of the bare
program."""
import json
import os
import pty
import select
import shutil
import signal
import sys
import tempfile
import termios
import time
import traceback
import unittest

import jobs

TIDEMARK, PROGRAM = sys.argv[1], sys.argv[2]
TERMINAL = 0


class Shell:
    """Runs one job in the foreground, in the child of pty.fork()."""

    def __init__(self, program):
        self.program = program
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self.seen = []

    def start(self):
        self.job = os.fork()
        if self.job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(TERMINAL, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execv(self.program.command[0], self.program.command)
        self.program.wait_for("ready")
        self.program.find(self.job)
        self.program.catch(signal.SIGCONT)

    def wait(self):
        """The next change of the job."""
        status = os.waitpid(self.job, os.WUNTRACED | os.WCONTINUED)[1]
        if os.WIFSTOPPED(status):
            self.seen.append("stopped by %d" % os.WSTOPSIG(status))
        elif os.WIFCONTINUED(status):
            self.seen.append("continued")
        elif os.WIFSIGNALED(status):
            self.seen.append("killed by %d" % os.WTERMSIG(status))
        else:
            self.seen.append("ended with %d" % os.WEXITSTATUS(status))
        return self.seen[-1]

    def stops(self):
        """The job and its program are stopped."""
        self.wait()
        jobs.wait_until(lambda: jobs.stat(self.program.pid)[:1] == ["T"], "a stopped program")

    def foreground(self):
        os.tcsetpgrp(TERMINAL, self.job)
        os.killpg(self.job, signal.SIGCONT)
        self.wait()

    def background(self):
        os.tcsetpgrp(TERMINAL, os.getpgrp())

    def end(self):
        self.program.tell("exit 3")
        self.wait()


# The cases: what the shell does.

def ctrl_z(shell):
    shell.type("\x1a")
    shell.stops()
    shell.foreground()
    shell.program.wait_for("got %02d" % signal.SIGCONT)
    shell.end()


def ctrl_z_ignored(shell):
    shell.program.tell("ignore %d" % signal.SIGTSTP, "say ignored")
    shell.program.wait_for("ignored")
    shell.type("\x1a")
    shell.end()


def stops_itself(shell):
    for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN):
        shell.program.tell("raise %d" % number)
        shell.stops()
        shell.foreground()
    shell.end()


def stopped_alone_and_continued_alone(shell):
    os.kill(shell.program.pid, signal.SIGSTOP)
    shell.stops()
    os.kill(shell.program.pid, signal.SIGCONT)
    shell.wait()
    shell.program.wait_for("got %02d" % signal.SIGCONT)
    shell.end()


def started_is_stopped_and_continued(shell):
    os.kill(shell.job, signal.SIGTSTP)
    shell.stops()
    os.kill(shell.job, signal.SIGCONT)
    shell.wait()
    shell.program.wait_for("got %02d" % signal.SIGCONT)
    shell.end()


def group_is_stopped_and_continued(shell):
    for times in range(1, 6):
        os.killpg(shell.job, signal.SIGSTOP)
        shell.stops()
        shell.foreground()
        shell.program.wait_for("got %02d" % signal.SIGCONT, times)
        shell.program.got(signal.SIGCONT)
    shell.end()


def killed_while_stopped(shell):
    shell.program.tell("raise %d" % signal.SIGSTOP)
    shell.stops()
    os.kill(shell.program.pid, signal.SIGKILL)
    while not shell.wait().startswith("killed"):
        shell.seen.pop()  # ours is continued before it ends


def reads_in_a_group_of_its_own(shell):
    """Bare it leads its group, and stays there."""
    shell.program.tell("ignore %d" % signal.SIGCONT, "leave 0", "read 0")
    shell.enter("one\n")
    shell.program.wait_for("one")
    shell.type("\x1a")
    shell.stops()
    shell.foreground()
    shell.program.tell("read 0")
    shell.enter("two\n")
    shell.program.wait_for("two")
    shell.end()
    shell.seen.append("the terminal is the job's: %s" % (os.tcgetpgrp(TERMINAL) == shell.job))


def reads_in_the_background(shell):
    """Of its own group, too: the job is stopped, and goes on in the foreground."""
    shell.background()
    shell.program.tell("ignore %d" % signal.SIGCONT, "leave 0", "read 0")
    shell.stops()
    shell.foreground()
    shell.enter("one\n")
    shell.program.wait_for("one")
    shell.end()


def background_with_tostop(shell):
    settings = termios.tcgetattr(TERMINAL)
    settings[3] |= termios.TOSTOP
    termios.tcsetattr(TERMINAL, termios.TCSANOW, settings)
    shell.background()
    shell.end()


def run(program, case, results):
    """In the leader of the session: what it saw and what the program got goes to `results`."""
    shell = Shell(program)
    try:
        shell.type = lambda keys: type_keys(results, keys)
        shell.enter = lambda line: put(results, {"enter": line})
        shell.start()
        case(shell)
        put(results, {"seen": shell.seen, "got": sorted(program.said())})
    except BaseException:
        put(results, {"trouble": traceback.format_exc(), "seen": shell.seen})
    os._exit(0)


def put(results, what):
    os.write(results[1], json.dumps(what).encode() + b"\n")


def type_keys(results, keys):
    """Asks who holds the terminal to type, and waits until it was echoed."""
    put(results, {"type": keys})
    os.read(results[2], 1)


def play(program, case):
    """Plays the user at the terminal of run(). What was seen, and all that was on the screen."""
    out, go = os.pipe(), os.pipe()
    leader, terminal = pty.fork()
    if leader == 0:
        run(program, case, (None, out[1], go[0]))
    os.close(out[1])
    screen, lines, echo = b"", b"", None
    end = time.monotonic() + 2 * jobs.PATIENCE
    answer, readable = None, [terminal, out[0]]
    while answer is None and time.monotonic() < end:
        ready = select.select(readable, [], [], 1)[0]
        if terminal in ready:
            try:
                screen += os.read(terminal, 65536)
            except OSError:  # all that had it have ended
                readable.remove(terminal)
        if echo and screen.count(b"^" + bytes([echo[0] + 64])) > 0:
            echo = None
            os.write(go[1], b"x")
        if out[0] in ready:
            lines += os.read(out[0], 65536)
        while b"\n" in lines:
            line, lines = lines.split(b"\n", 1)
            said = json.loads(line)
            if "type" in said:
                echo = said["type"].encode()
                os.write(terminal, echo)
            elif "enter" in said:
                os.write(terminal, said["enter"].encode())
            else:
                answer = said
    if answer is None:
        os.kill(leader, signal.SIGKILL)
    for fd in (terminal, out[0], *go):
        os.close(fd)
    os.waitpid(leader, 0)
    return answer, screen.decode(errors="replace")


class Jobs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def tearDown(self):
        shutil.rmtree(self.folder)

    def check(self, case):
        seen = []
        for recorded in (False, True):
            program = jobs.Program(self.folder, TIDEMARK, PROGRAM, recorded,
                                   ("--progress", "never"))
            answer, screen = play(program, case)
            self.assertIsNotNone(answer, (case.__name__, recorded, screen[-400:]))
            self.assertNotIn("trouble", answer, (recorded, answer, screen[-400:]))
            seen.append(answer)
        self.assertEqual(seen[0], seen[1])
        return seen[1]["seen"]

    def test_ctrl_z(self):
        self.assertEqual(self.check(ctrl_z)[0], "stopped by %d" % signal.SIGTSTP)

    def test_ctrl_z_that_the_program_ignores(self):
        self.assertEqual(self.check(ctrl_z_ignored), ["ended with 3"])

    def test_a_program_that_stops_itself(self):
        self.assertEqual(len(self.check(stops_itself)), 7)

    def test_a_program_that_is_stopped_alone(self):
        self.check(stopped_alone_and_continued_alone)

    def test_what_was_started_is_stopped(self):
        self.check(started_is_stopped_and_continued)

    def test_the_group_is_stopped(self):
        self.check(group_is_stopped_and_continued)

    def test_killed_while_stopped(self):
        self.check(killed_while_stopped)

    def test_a_program_that_leaves_the_group_and_reads(self):
        seen = self.check(reads_in_a_group_of_its_own)
        self.assertEqual(seen[-2:], ["ended with 3", "the terminal is the job's: True"])

    def test_a_program_that_leaves_the_group_and_reads_in_the_background(self):
        self.check(reads_in_the_background)

    def test_in_the_background_with_tostop(self):
        self.assertEqual(self.check(background_with_tostop), ["ended with 3"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
