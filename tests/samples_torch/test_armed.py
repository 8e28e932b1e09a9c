"""`tidemark record --armed` and `tidemark arm`: a recording that begins in the middle of a training loop
has what one from the start has from there on, and nothing that happens to it is the program's."""
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import time

from recording import LONG, PROGRAMS, PYTHON, TIDEMARK, environment, expect, interruptible, main, run

PROGRAM = os.path.join(PROGRAMS, "armed.py")
STEPS, AT = 9, 4
EARLIER = "allocated before the recording"


def wait_for(path):
    """What stands in it, once it is there."""
    for _ in range(60000):
        if os.path.exists(path):
            with open(path) as file:
                return int(file.read())
        time.sleep(0.01)
    raise AssertionError("%s did not come" % path)


def start(folder, *words):
    return subprocess.Popen(
        [TIDEMARK, "record", "--armed", "--", PYTHON, PROGRAM, folder] + [str(w) for w in words],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def arm(pid, path, *words):
    return subprocess.Popen([TIDEMARK, "arm", str(pid), "-o", path] + list(words),
                            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, preexec_fn=interruptible)


def end(process):
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def ask(path, question, *values):
    with sqlite3.connect(path) as db:
        return db.execute(question, values).fetchall()


def check_end(process, bare, pid):
    status, out, err = end(process)
    expect((status, out), (bare.returncode, bare.stdout), err)
    expect(err, "tidemark: armed: tidemark arm %d records it, from then on\n" % pid)


# What was before the first of them began is another's.
PHASES = """SELECT step - ?, phase, allocated, phase_peak FROM phase_table
             WHERE step >= ? AND phase <> 'other' ORDER BY step, begin_ns"""
BLOCKS = """SELECT step - ?, phase, size, site, module, tag, freed_step - ?, freed_phase FROM allocations
             WHERE step >= ? ORDER BY allocation"""
KINDS = "SELECT category, bytes, blocks FROM peak_by_category ORDER BY category"


def equals_a_recording_from_the_start():
    with tempfile.TemporaryDirectory() as folder:
        whole, part = os.path.join(folder, "whole.db"), os.path.join(folder, "part.db")
        bare = run([PYTHON, PROGRAM, "-", str(STEPS), str(AT)])
        run([TIDEMARK, "record", "-o", whole, "--", PYTHON, PROGRAM, "-", str(STEPS), str(AT)])
        program = start(folder, STEPS, AT)
        pid = wait_for(os.path.join(folder, "here"))
        expect(pid, program.pid, "the command becomes the program")
        recorder = arm(pid, part)
        check_end(program, bare, pid)
        status, _, err = end(recorder)
        expect(status, 0, err)
        first = AT + 1
        expect(ask(part, PHASES, 0, 0), ask(whole, PHASES, first, first), "phases")
        expect(len(ask(part, PHASES, 0, 0)) >= 4 * (STEPS - first), True)
        expect(ask(part, BLOCKS, 0, 0, 0), ask(whole, BLOCKS, first, first, first), "blocks")
        expect(ask(part, KINDS), ask(whole, KINDS), "what the peak is of")
        check_marked(part, whole)


def check_marked(part, whole):
    settings = dict(ask(part, "SELECT key, value FROM setting WHERE key LIKE 'earlier%'"))
    earlier = ask(part, "SELECT count(*), sum(size) FROM allocations WHERE site = ?", EARLIER)[0]
    expect((int(settings["earlier_blocks"]), int(settings["earlier_bytes"])), earlier)
    allocated = ask(whole, """SELECT allocated FROM phase_table
                               WHERE step = ? AND phase = 'optimizer'""", AT)
    expect(earlier[1], allocated[0][0], "what lived then")
    # Parameters, what Adam keeps of them and the gradients were there, and are known by their tags.
    tags = ask(part, """SELECT DISTINCT c.category FROM allocations a
                          JOIN allocation_category c ON c.allocation = a.allocation
                         WHERE a.site = ?""", EARLIER)
    expect({"parameter", "optimizer state"} <= {tag for tag, in tags}, True, tags)
    expect(ask(part, "SELECT count(*) FROM anomaly"), [(0,)],
           ask(part, "SELECT * FROM anomaly"))
    expect(ask(part, "SELECT origin FROM process"), [("armed",)])
    said = run([TIDEMARK, "peak", part]).stdout
    expect("the recording began in the middle of the program" in said, True, said)


def is_armed_again():
    """Recorded, let alone, recorded: each time from then on."""
    with tempfile.TemporaryDirectory() as folder:
        bare = run([PYTHON, PROGRAM, "-", "900", "-1", "2"])
        program = start(folder, 900, -1, 2)
        pid = wait_for(os.path.join(folder, "here"))
        for number in range(3):
            path = os.path.join(folder, "%d.db" % number)
            status, _, err = end(arm(pid, path, "--steps", "4"))
            expect(status, 0, err)
            expect("nothing was lost" in err, True, err)
            check_sums(path)
            # Of the four steps the first may have begun behind its forward.
            expect(ask(path, "SELECT count(*) >= 3 FROM phase_table WHERE phase = 'forward'"),
                   [(1,)], err)
            kinds = dict(ask(path, """SELECT category, sum(size) FROM live_at_peak
                                       WHERE category = 'parameter' GROUP BY 1"""))
            expect(kinds, {"parameter": 4 * (2 * 64 * 256 + 256 + 64)}, "tags")
        check_end(program, bare, pid)


def check_sums(path):
    """Nothing came that was there, nothing went that was not: the threads met the begin anywhere."""
    expect(ask(path, "SELECT kind, address, detail FROM anomaly LIMIT 5"), [])
    expect(ask(path, "PRAGMA integrity_check"), [("ok",)])


def goes_on_when_the_recorder_is_killed():
    rounds, steps = (60, 20000) if LONG else (6, 900)
    with tempfile.TemporaryDirectory() as folder:
        bare = run([PYTHON, PROGRAM, "-", str(steps), "-1", "1"])
        program = start(folder, steps, -1, 1)
        pid = wait_for(os.path.join(folder, "here"))
        chance = random.Random(rounds)
        killed = 0
        for number in range(rounds):
            path = os.path.join(folder, "%d.db" % number)
            recorder = arm(pid, path)
            time.sleep(chance.random() * 0.5)
            killed += recorder.poll() is None
            recorder.send_signal(signal.SIGKILL)
            end(recorder)
            if os.path.exists(path):
                expect(ask(path, "PRAGMA integrity_check"), [("ok",)])
        expect(killed > 0, True)
        last = os.path.join(folder, "last.db")
        if program.poll() is None:
            expect(end(arm(pid, last, "--for", "1"))[0], 0)
        check_end(program, bare, pid)


def a_killed_program_ends_the_recording():
    with tempfile.TemporaryDirectory() as folder:
        program = start(folder, 100000000, -1)
        pid = wait_for(os.path.join(folder, "here"))
        path = os.path.join(folder, "run.db")
        recorder = arm(pid, path)
        time.sleep(2)
        program.kill()
        end(program)
        status, _, err = end(recorder)
        expect(status, 0, err)
        expect(ask(path, "SELECT ended, signal FROM process"), [("signal", 9)])


def refuses_in_one_line():
    sleep = subprocess.Popen(["sleep", "600"])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.db")
        for pid, why in ((sleep.pid, "was not started by tidemark record --armed"),
                         (2 ** 22, "is not there")):
            status, _, err = end(arm(pid, path))
            expect((status, err), (3, "tidemark: process %d %s\n" % (pid, why)))
        program = start(folder, 100000000, -1)
        pid = wait_for(os.path.join(folder, "here"))
        first = arm(pid, path)
        while not os.path.exists(path):
            time.sleep(0.01)
        time.sleep(1)
        status, _, err = end(arm(pid, os.path.join(folder, "second.db")))
        expect((status, err),
               (3, "tidemark: process %d is being recorded by another tidemark arm\n" % pid))
        expect(os.path.exists(os.path.join(folder, "second.db")), False)
        first.send_signal(signal.SIGINT)
        expect(end(first)[0], 0)
        program.kill()
        end(program)
    sleep.kill()
    sleep.wait()


def tests():
    return [equals_a_recording_from_the_start, is_armed_again, goes_on_when_the_recorder_is_killed,
            a_killed_program_ends_the_recording, refuses_in_one_line]


if __name__ == "__main__":
    main(*tests())
