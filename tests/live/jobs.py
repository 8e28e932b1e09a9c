"""Starting prog_signals, bare or recorded, and asking it what it got."""
import os
import signal
import subprocess
import time

PATIENCE = 600  # a machine may be as busy as it likes
MARK = signal.SIGRTMAX  # of signals that wait, the last to be delivered


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("in vain: " + what)
        time.sleep(0.005)


def stat(pid):
    """The fields of /proc/PID/stat behind the name; [] if there is no such process."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()
    except OSError:
        return []


def name(pid):
    try:
        with open("/proc/%d/comm" % pid) as file:
            return file.read().strip()
    except OSError:
        return ""


def command_line(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().rstrip(b"\0").split(b"\0")
    except OSError:
        return []


def processes():
    return sorted(int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def children(pid):
    return [other for other in processes() if stat(other)[1:2] == [str(pid)]]


class Program:
    """prog_signals in a folder of its own, with the command that starts it."""

    count = 0

    def __init__(self, folder, tidemark, program, recorded, options=()):
        Program.count += 1
        self.recorded = recorded
        self.path = os.path.join(folder, "program-%d" % Program.count)
        os.mkdir(self.path)
        self.fifo, self.log = self.path + "/fifo", self.path + "/log"
        os.mkfifo(self.fifo)
        self.command = [program, self.fifo, self.log]
        if recorded:
            self.command[:0] = [tidemark, "record", "-o", self.path + "/run.db", *options, "--"]

    def start(self, before=(), **options):
        """In a session, and so a process group, of its own."""
        self.process = subprocess.Popen([*before, *self.command], start_new_session=True,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        **options)
        self.leader = self.process.pid
        self.wait_for("ready")
        self.find(children(self.leader)[0] if before else self.leader)
        return self

    def find(self, first):
        """`first` is what was started: the program, or its recorder."""
        self.first = first
        of_first = children(first) if self.recorded else [first]
        self.pid = [pid for pid in of_first if name(pid) == "prog_signals"][0]
        self.witness = [pid for pid in of_first if name(pid) == "signal-witness"]

    def tell(self, *lines):
        with open(self.fifo, "w") as file:
            file.write("".join(line + "\n" for line in lines))

    def said(self):
        try:
            with open(self.log) as file:
                return file.read().split("\n")[:-1]
        except OSError:
            return []

    def wait_for(self, line, times=1):
        wait_until(lambda: self.said().count(line) >= times, "%r, %r" % (line, self.said()))

    def catch(self, *numbers):
        self.tell(*("catch %d" % number for number in (MARK, *numbers)), "say caught")
        self.wait_for("caught")

    def got(self, number):
        """How often it got it by now: whatever was sent before is decided when the mark, which is
        sent after it, arrives."""
        mark = "got %02d" % MARK
        before = self.said().count(mark)
        os.kill(self.first, MARK)
        self.wait_for(mark, before + 1)
        return self.said().count("got %02d" % number)

    def end(self, code=5):
        self.tell("exit %d" % code)
        err = self.process.stderr.read().decode()
        self.process.wait(PATIENCE)
        return self.process.returncode, err

    def kill(self):
        """Whatever became of it, and of those that it left in its session."""
        for pid in processes():
            if stat(pid)[3:4] == [str(self.leader)]:
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process.stderr.close()
