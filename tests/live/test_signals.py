"""What is sent reaches the program as often as without us: to its group, to a list of processes, or
to what was started alone."""
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import jobs

TIDEMARK, PROGRAM = sys.argv[1], sys.argv[2]
COMMON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
OTHERS = (signal.SIGQUIT, signal.SIGABRT, signal.SIGALRM, signal.SIGWINCH, signal.SIGCONT,
          signal.SIGRTMIN + 1)


class Signals(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.programs = []

    def tearDown(self):
        for program in self.programs:
            program.kill()
        shutil.rmtree(self.folder)

    def start(self, recorded=True, before=(), numbers=COMMON + OTHERS, **options):
        program = jobs.Program(self.folder, TIDEMARK, PROGRAM, recorded)
        self.programs.append(program)
        program.start(before, **options)
        program.catch(*numbers)
        return program

    def ends_well(self, program):
        """The recording too: nobody thinks that it was asked to end more often than it was."""
        code, err = program.end()
        self.assertEqual(code, 5, err)
        if program.recorded:
            self.assertIn("nothing was lost", err)
            self.assertNotIn("left running", err)

    def check(self, send, numbers=COMMON, bare_too=True, times=(1,)):
        """send(program, number), then what came of it, so many times."""
        for recorded in (False, True) if bare_too else (True,):
            program = self.start(recorded)
            for number in numbers:
                send(program, number)
                self.assertIn(program.got(number), times, (number, recorded, program.said()))
            self.ends_well(program)

    def test_to_what_was_started_alone(self):
        self.check(lambda program, number: os.kill(program.first, number), COMMON + OTHERS)

    def test_to_the_group(self):
        self.check(lambda program, number: os.killpg(program.leader, number), COMMON + OTHERS)

    def test_to_the_group_and_before_to_what_was_started(self):
        """Bare it is once or twice: two that wait become one, and on a busy machine the first may be
        over before the second is sent."""
        def send(program, number):
            os.kill(program.first, number)
            os.killpg(program.leader, number)
        self.check(send, times=(1, 2))

    def test_to_each_process_of_a_list(self):
        def send(program, number):
            session = [pid for pid in jobs.processes()
                       if jobs.stat(pid)[3:4] == [str(program.leader)]]
            for pid in session:
                os.kill(pid, number)
        self.check(send)

    def test_to_all_with_some_command_line(self):
        """The folder is on the program's command line; "record" is on the recorder's alone."""
        def send(program, number, word=None):
            word = word or program.log.encode()
            found = [pid for pid in [program.first, *jobs.children(program.first)]
                     if word in jobs.command_line(pid)]
            for pid in found:
                os.kill(pid, number)
        self.check(send)
        self.check(lambda program, number: send(program, number, b"record"), bare_too=False)

    @unittest.skipUnless(shutil.which("timeout"), "timeout is not installed")
    def test_timeout(self):
        """It passes on what it gets as what it sends when the time is up."""
        for number in COMMON:
            program = self.start(before=("timeout", "-s", "%d" % number, "600"))
            os.kill(program.leader, number)
            program.wait_for("got %02d" % number)  # timeout has yet to wake up
            self.assertEqual(program.got(number), 1, (number, program.said()))
            program.end()

    def test_again_and_again(self):
        """What is sent to the group is for the program, however often; and to both at once."""
        for recorded in (False, True):
            program = self.start(recorded)
            for times in range(1, 5):
                os.killpg(program.leader, signal.SIGTERM)
                self.assertEqual(program.got(signal.SIGTERM), times)
            self.ends_well(program)
        program = self.start()
        for times in range(1, 5):
            os.kill(program.first, signal.SIGTERM)
            os.killpg(program.leader, signal.SIGTERM)
            self.assertEqual(program.got(signal.SIGTERM), times)
        self.ends_well(program)

    def leave(self, program):
        program.tell("leave 0", "say left")
        program.wait_for("left")

    def test_a_program_that_leaves_its_group(self):
        """Bare it leads the group, and cannot leave it."""
        for recorded in (False, True):
            program = self.start(recorded)
            self.leave(program)
            for times in (1, 2):
                for number in COMMON + OTHERS:
                    os.killpg(program.leader, number)
                    self.assertEqual(program.got(number), times, (number, program.said()))
            self.ends_well(program)

    @unittest.skipUnless(shutil.which("timeout"), "timeout is not installed")
    def test_a_program_that_leaves_the_group_of_timeout(self):
        for recorded in (False, True):
            program = self.start(recorded, before=("timeout", "-s", "%d" % signal.SIGTERM, "600"))
            self.leave(program)
            os.kill(program.leader, signal.SIGALRM)
            program.wait_for("got %02d" % signal.SIGTERM)
            self.assertEqual(program.got(signal.SIGTERM), 1, (recorded, program.said()))
            program.end()

    def test_sent_one_after_the_other(self):
        for recorded in (False, True):
            program = self.start(recorded)
            for times in (1, 2, 3):
                os.kill(program.first, signal.SIGINT)
                self.assertEqual(program.got(signal.SIGINT), 2 * times - 1)
                os.killpg(program.leader, signal.SIGINT)
                self.assertEqual(program.got(signal.SIGINT), 2 * times)
            self.ends_well(program)

    def test_to_its_parent(self):
        came = []
        before = signal.signal(signal.SIGUSR1, lambda *_: came.append(1))
        try:
            for times, recorded in enumerate((False, True), 1):
                program = self.start(recorded)
                program.tell("parent %d" % signal.SIGUSR1)
                jobs.wait_until(lambda: len(came) >= times, "a signal to us")
                self.assertEqual(program.got(signal.SIGUSR1), 0)
                self.ends_well(program)
            self.assertEqual(len(came), 2)
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_the_witness(self):
        program = self.start()
        witness, = program.witness
        self.assertEqual(jobs.command_line(witness), jobs.command_line(program.pid))
        held = [os.readlink("/proc/%d/fd/%s" % (witness, fd))
                for fd in os.listdir("/proc/%d/fd" % witness)]
        self.assertEqual(sorted(link.split(":")[0] for link in held), ["anon_inode", "socket"], held)
        self.ends_well(program)
        self.assertEqual(jobs.stat(witness), [])

    def test_the_witness_is_killed(self):
        program = self.start()
        os.kill(program.witness[0], signal.SIGKILL)
        jobs.wait_until(lambda: not jobs.stat(program.witness[0]), "its burial")
        for number in COMMON:
            os.kill(program.first, number)
            self.assertEqual(program.got(number), 1)
        self.ends_well(program)

    def test_the_witness_is_stopped(self):
        program = self.start()
        for times in (1, 3):
            os.kill(program.witness[0], signal.SIGSTOP)
            os.kill(program.first, signal.SIGINT)
            self.assertEqual(program.got(signal.SIGINT), times)
            os.killpg(program.leader, signal.SIGINT)
            self.assertEqual(program.got(signal.SIGINT), times + 1)
        self.ends_well(program)

    def test_the_group_is_stopped_and_one_continued(self):
        program = self.start()
        os.killpg(program.leader, signal.SIGSTOP)
        for pid in (program.first, program.pid, program.witness[0]):
            jobs.wait_until(lambda: jobs.stat(pid)[:1] == ["T"], "a stop")
        os.kill(program.first, signal.SIGCONT)
        self.assertEqual(program.got(signal.SIGCONT), 1)
        for number in COMMON:
            os.killpg(program.leader, number)
            self.assertEqual(program.got(number), 1)
        self.ends_well(program)

    def test_the_witness_goes_with_the_recorder(self):
        program = self.start()
        os.kill(program.first, signal.SIGKILL)
        jobs.wait_until(lambda: jobs.stat(program.witness[0])[:1] in ([], ["Z"]), "its end")
        program.tell("exit 0")

    def test_the_witness_is_killed_and_the_program_sends(self):
        """To its group, in which nobody above the recorder is, and to its parent."""
        came = []
        before = signal.signal(signal.SIGUSR1, lambda *_: came.append(1))
        try:
            program = self.start()
            os.kill(program.witness[0], signal.SIGKILL)
            jobs.wait_until(lambda: not jobs.stat(program.witness[0]), "its burial")
            for word in ("group", "parent"):
                program.tell("%s %d" % (word, signal.SIGUSR1), "say " + word)
                program.wait_for(word)
                self.assertEqual(program.got(signal.SIGUSR1), 1)
            self.ends_well(program)
            self.assertEqual(came, [])
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_the_program_sends_to_its_group(self):
        """Its own requests to end are none to us."""
        for recorded in (False, True):
            program = self.start(recorded)
            for times in range(1, 5):
                program.tell("group %d" % signal.SIGTERM, "say sent")
                program.wait_for("sent", times)
                self.assertEqual(program.got(signal.SIGTERM), times)
            self.ends_well(program)

    def test_hangups_under_nohup(self):
        """Ignored, unless the program does otherwise."""
        for recorded in (False, True):
            program = self.start(recorded, numbers=(signal.SIGINT,),
                                 preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
            os.kill(program.first, signal.SIGHUP)
            self.assertEqual(program.got(signal.SIGHUP), 0)
            self.ends_well(program)

    def test_the_terminal_is_closed(self):
        for recorded in (False, True):
            program = jobs.Program(self.folder, TIDEMARK, PROGRAM, recorded)
            leader, terminal = pty.fork()
            if leader == 0:
                os.execv(program.command[0], program.command)
            program.leader = leader
            program.wait_for("ready")
            program.find(leader)
            program.catch(signal.SIGHUP)
            os.close(terminal)
            self.assertEqual(program.got(signal.SIGHUP), 1, (recorded, program.said()))
            program.tell("exit 3")
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(leader, 0)[1]), 3)

    def test_nobody_reads_stderr(self):
        for recorded in (False, True):
            program = jobs.Program(self.folder, TIDEMARK, PROGRAM, recorded)
            reader, writer = os.pipe()
            process = subprocess.Popen(program.command, stdin=subprocess.DEVNULL, stderr=writer)
            os.close(reader)
            os.close(writer)
            program.wait_for("ready")
            program.tell("exit 6")
            self.assertEqual(process.wait(jobs.PATIENCE), 6)

    def test_death_by_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGINT):
            program = self.start(numbers=())
            program.tell("raise %d" % number)
            program.process.stderr.read()
            self.assertEqual(program.process.wait(jobs.PATIENCE), -number)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
