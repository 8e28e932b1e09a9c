"""A program that saves when it is interrupted saves once, whoever interrupts it: timeout, when the
time is up, or the process group's signal. Bare and recorded, as often as the last argument says."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import jobs

TIDEMARK, PROGRAM, TIMES = sys.argv[1], sys.argv[2], int(sys.argv[3])


class Run:
    """prog_checkpoint.py in a session of its own, behind `before`."""

    def __init__(self, folder, recorded, before=()):
        self.log, self.go = folder + "/log", folder + "/go"
        command = [sys.executable, PROGRAM, self.log, self.go]
        if recorded:
            command[:0] = [TIDEMARK, "record", "-o", folder + "/run.db", "--"]
        self.process = subprocess.Popen([*before, *command], start_new_session=True,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.wait_for("training")
        self.first = jobs.children(self.process.pid)[0] if before else self.process.pid

    def said(self):
        try:
            with open(self.log) as file:
                return file.read().split("\n")[:-1]
        except OSError:
            return []

    def wait_for(self, line):
        jobs.wait_until(lambda: line in self.said(), "%r, %r" % (line, self.said()))

    def end(self):
        """It is saving. What was sent before the mark has arrived when the mark has."""
        self.wait_for("saving")
        os.kill(self.first, jobs.MARK)
        jobs.wait_until(lambda: "got mark" in self.said() or self.process.poll() is not None,
                        "the mark")
        open(self.go, "w").close()
        err = self.process.stderr.read().decode()
        return self.process.wait(jobs.PATIENCE), err

    def kill(self):
        for pid in jobs.processes():
            if jobs.stat(pid)[3:4] == [str(self.process.pid)]:
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process.stderr.close()


class Checkpoint(unittest.TestCase):
    def check(self, send, code, recorded, before=()):
        folder = tempfile.mkdtemp()
        run = None
        try:
            run = Run(folder, recorded, before)
            send(run)
            ended, err = run.end()
            self.assertEqual(run.said(), ["training", "saving", "got mark", "saved"], err)
            self.assertEqual(ended, code, err)
            if recorded:
                self.assertIn("nothing was lost", err)
        finally:
            if run:
                run.kill()
            shutil.rmtree(folder)

    def test_the_group_is_interrupted(self):
        for _ in range(TIMES):
            for recorded in (False, True):
                self.check(lambda run: os.killpg(run.process.pid, signal.SIGINT), 0, recorded)

    @unittest.skipUnless(shutil.which("timeout"), "timeout is not installed")
    def test_the_time_is_up(self):
        """SIGALRM is what timeout waits for. It sends to what it started and to its group; bare,
        that is one interrupt or two, as the machine likes. It waits when it has sent both."""
        def send(run):
            os.kill(run.process.pid, signal.SIGALRM)
            run.wait_for("saving")
            jobs.wait_until(lambda: jobs.stat(run.process.pid)[:1] == ["S"], "a timeout that waits")
        for _ in range(TIMES):
            self.check(send, 124, True, ("timeout", "-s", "INT", "600"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
