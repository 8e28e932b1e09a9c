"""`tidemark attach`, on CPython 3.14 with torch: the interpreter that TIDEMARK_PYTHON314 names, or python3.14;
without one only what it refuses. What is recorded is what a recording from the start has from there on; and whatever happens to the
command, the program's output and exit status are what they are without."""
import glob
import json
import os
import random
import select
import shutil
import signal
import subprocess
import tempfile
import time

FOUND = os.environ.get("TIDEMARK_PYTHON314") or shutil.which("python3.14")
if FOUND:
    os.environ["TIDEMARK_TEST_PYTHON"] = FOUND

from recording import (LONG, PYTHON, TIDEMARK, environment, expect, interruptible, main,  # noqa: E402
                       run)
import test_armed as armed  # noqa: E402
from test_armed import AT, PROGRAM, STEPS, ask, end, wait_for  # noqa: E402

HINT = "attached: driver memory, NVTX ranges and programs that it starts are not recorded"
SIGNALLED = os.path.join(os.path.dirname(PROGRAM), "signalled.py")


def start(*words):
    return subprocess.Popen([FOUND] + [str(word) for word in words], env=environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=interruptible)


def attach(pid, path, *words):
    return subprocess.Popen([TIDEMARK, "attach", str(pid), "-o", path] + list(words),
                            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, preexec_fn=interruptible)


def check_end(program, bare):
    expect(end(program), (bare.returncode, bare.stdout, bare.stderr))


def equals_a_recording_from_the_start():
    with tempfile.TemporaryDirectory() as folder:
        before = folders()
        whole, part = os.path.join(folder, "whole.db"), os.path.join(folder, "part.db")
        bare = run([FOUND, PROGRAM, "-", str(STEPS), str(AT)])
        run([TIDEMARK, "record", "-o", whole, "--", FOUND, PROGRAM, "-", str(STEPS), str(AT)])
        program = start(PROGRAM, folder, STEPS, AT)
        recorder = attach(wait_for(os.path.join(folder, "here")), part)
        check_end(program, bare)
        status, _, err = end(recorder)
        expect(status, 0, err)
        expect(HINT in err, True, err)
        expect(folders() - before, set())
        first = AT + 1
        expect(ask(part, armed.PHASES, 0, 0), ask(whole, armed.PHASES, first, first), "phases")
        expect(len(ask(part, armed.PHASES, 0, 0)) >= 4 * (STEPS - first), True)
        expect(ask(part, armed.BLOCKS, 0, 0, 0), ask(whole, armed.BLOCKS, first, first, first),
               "blocks")
        expect(ask(part, armed.KINDS), ask(whole, armed.KINDS), "what the peak is of")
        armed.check_marked(part, whole)
        expect(ask(part, "SELECT value FROM meta WHERE key = 'attached'"), [(1,)])


def is_attached_again():
    with tempfile.TemporaryDirectory() as folder:
        bare = run([FOUND, PROGRAM, "-", "900", "-1", "2"])
        program = start(PROGRAM, folder, 900, -1, 2)
        pid = wait_for(os.path.join(folder, "here"))
        for number in range(3):
            path = os.path.join(folder, "%d.db" % number)
            status, _, err = end(attach(pid, path, "--steps", "6"))
            expect(status, 0, err)
            expect("nothing was lost" in err, True, err)
            armed.check_sums(path)
        check_end(program, bare)


def helper_of(pid):
    """The process that `attach` starts, if it is there just now."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return int(file.read().split()[0])
    except (OSError, IndexError):
        return None


def end_by(recorder, how):
    """Whatever it does: looks for the program, waits for it, records."""
    victim = helper_of(recorder.pid) if how == "helper" else recorder.pid
    if victim is None or recorder.poll() is not None:
        recorder.kill()
        return False
    os.kill(victim, signal.SIGKILL if how == "helper" else how)
    if how == "helper":
        recorder.terminate()
    return True


def goes_on_when_the_command_is_killed():
    """While it looks for the program, while the program loads the library, while it records; or the process
    that it starts to reach the program. The next one that is not removes what is left."""
    rounds, steps = (60, 20000) if LONG else (8, 2500)
    ways = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, "helper"]
    chance = random.Random(rounds)
    before = folders()
    with tempfile.TemporaryDirectory() as folder:
        bare = run([FOUND, PROGRAM, "-", str(steps), "-1", "1"])
        program = start(PROGRAM, folder, steps, -1, 1)
        pid = wait_for(os.path.join(folder, "here"))
        killed = 0
        for number in range(rounds):
            path = os.path.join(folder, "%d.db" % number)
            recorder = attach(pid, path)
            time.sleep(chance.random() * 0.4)
            killed += end_by(recorder, ways[number % len(ways)])
            end(recorder)
            if os.path.exists(path):
                expect(ask(path, "PRAGMA integrity_check"), [("ok",)])
        expect(killed > 0, True)
        check_end(program, bare)
        busy = start_words(FOUND, "-c", BUSY)
        status, _, err = end(attach(busy.pid, os.path.join(folder, "last.db"), "--for", "1"))
        expect(status, 0, err)
        busy.kill()
        end(busy)
        expect(folders() - before, set())


WAITS = """import sys
print("here", flush=True)
print(sys.stdin.readline(), end="", flush=True)
sys.exit(7)
"""
BUSY = """import time
print("here", flush=True)
while True:
    time.sleep(0.001)
"""


def start_words(*words):
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    expect(program.stdout.readline(), "here\n")
    return program


def await_waiting(recorder):
    line = recorder.stderr.readline()
    expect("main thread is in no Python code; waiting for it" in line, True, line)


def end_waiting(program):
    """It comes to what `attach` asked of it, and there is nothing to be seen of that."""
    out, err = program.communicate("bye\n", timeout=600)
    expect((program.returncode, out, err), (7, "bye\n", ""))


def leaves_nothing_when_asked_to_stop():
    """While the program's main thread waits in C, and will come to the script later."""
    before = folders()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        program = start_words(FOUND, "-c", WAITS)
        with tempfile.TemporaryDirectory() as folder:
            recorder = attach(program.pid, os.path.join(folder, "run.db"))
            await_waiting(recorder)
            expect(len(folders() - before), 1)
            recorder.send_signal(number)
            expect(end(recorder)[0], -number)
            expect(os.listdir(folder), [])
        expect(folders() - before, set())
        end_waiting(program)


def sweeps_what_a_killed_one_left():
    before = folders()
    with tempfile.TemporaryDirectory() as folder:
        busy, waits, comes = (start_words(FOUND, "-c", what) for what in (BUSY, WAITS, WAITS))
        for program in (waits, comes):
            recorder = attach(program.pid, os.path.join(folder, "killed.db"))
            await_waiting(recorder)
            recorder.kill()
            end(recorder)
        expect(len(folders() - before), 2)
        end_waiting(comes)  # which executes the script: it is armed for the rest of its life

        def attach_to_busy(name):
            status, _, err = end(attach(busy.pid, os.path.join(folder, name), "--for", "1"))
            expect(status, 0, err)
            expect("it allocated nothing through PyTorch meanwhile" in err, True, err)
        attach_to_busy("one.db")
        expect([str(waits.pid) in path for path in folders() - before], [True], "which may come to it")
        waits.kill()
        end(waits)
        attach_to_busy("two.db")
        expect(folders() - before, set())
        busy.kill()
        end(busy)


def gives_up_after_a_minute():
    before = folders()
    program = start_words(FOUND, "-c", WAITS)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.db")
        recorder = attach(program.pid, path)
        await_waiting(recorder)
        status, _, err = end(recorder)
        expect((status, err), (3, "tidemark: process %d did not answer within a minute: its main thread is "
                                  "in no Python code, or waits\n" % program.pid))
        expect(os.path.exists(path), False)
    expect(folders() - before, set())
    end_waiting(program)


ON_CUDA = os.path.join(os.path.dirname(PROGRAM), "attached_cuda.py")


def stand_ins():
    """The environment of a rehearsal, without the recorder; None: this torch was not built for CUDA."""
    with tempfile.TemporaryDirectory() as folder:
        done = run([TIDEMARK, "rehearse", "--gpu", "a100-40gb", "-o", os.path.join(folder, "run.db"), "--",
                    FOUND, "-c", "import json, os, torch; print(torch.version.cuda, json.dumps(dict(os.environ)))"])
    version, _, found = done.stdout.partition(" ")
    if done.returncode != 0 or version == "None":
        return None
    found = json.loads(found)
    own = {name: found[name] for name in ("LD_LIBRARY_PATH", "TIDEMARK_REHEARSAL")}
    own["LD_PRELOAD"] = ":".join(path for path in found["LD_PRELOAD"].split(":")
                                 if not path.endswith("libtidemark.so"))
    return own


def equals_the_counters_of_a_gpu():
    """One that is rehearsed: what was live is the allocator's list, and the peak its counter."""
    stand_in = stand_ins()
    if stand_in is None:
        print("left out: a rehearsed GPU, for a torch that was built for CUDA")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.db")
        program = subprocess.Popen([FOUND, ON_CUDA, folder, "40"], env=dict(environment(), **stand_in),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        recorder = attach(wait_for(os.path.join(folder, "here")), path)
        status, out, err = end(program)
        expect((status, err), (0, ""))
        expect(end(recorder)[0], 0)
        allocated, most = map(int, out.split())
        expect(ask(path, "SELECT sum(size) FROM allocations WHERE device = 'cuda:0' AND site = ?", armed.EARLIER),
               [(allocated,)])
        expect(ask(path, "SELECT allocated FROM peak WHERE device = 'cuda:0'"), [(most,)])
        expect(ask(path, "SELECT count(*) FROM anomaly"), [(0,)], ask(path, "SELECT * FROM anomaly"))


DEAF = os.path.join(os.path.dirname(PROGRAM), "deaf.py")


def says_what_it_cannot_hear():
    """A libc10 whose calls cannot be taken over: no block is recorded, and a line says so."""
    with tempfile.TemporaryDirectory() as folder:
        program = start(DEAF, folder)
        pid = wait_for(os.path.join(folder, "here"))
        path = os.path.join(folder, "run.db")
        for _ in range(2):
            status, _, err = end(attach(pid, path, "--for", "1", "--force"))
            expect(status, 0, err)
            expect("blocks of the CPU are not recorded: PyTorch did not report the one that was tried" in err,
                   True, err)
            expect(ask(path, "SELECT count(*) FROM allocation"), [(0,)])
        program.terminate()
        expect(end(program), (9, "", ""))


def gets_its_signals():
    """Handlers raise wherever the main thread is. What one raises in the some ten microseconds that a
    script takes CPython itself loses: one at most, and it says so."""
    with tempfile.TemporaryDirectory() as folder:
        program = start(SIGNALLED, folder)
        pid = wait_for(os.path.join(folder, "here"))
        recorder = attach(pid, os.path.join(folder, "run.db"), "--for", "2")
        chance, count, lost = random.Random(1), 0, 0
        while recorder.poll() is None:
            time.sleep(chance.random() * 0.02)
            os.kill(pid, signal.SIGINT)
            count += 1
            if not select.select([program.stdout], [], [], 30)[0]:
                lost += 1
                os.kill(pid, signal.SIGINT)
            expect(program.stdout.readline(), "%d\n" % count)
        status, _, err = end(recorder)
        expect(status, 0, err)
        os.kill(pid, signal.SIGTERM)
        status, out, err = end(program)
        expect((status, out), (9, ""), err)
        expect((lost <= 1, err == ""), (True, lost == 0), err)


def refuses_in_one_line():
    sleep = subprocess.Popen(["sleep", "600"])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.db")
        whose = os.path.realpath("/proc/%d/exe" % sleep.pid)
        for pid, why in ((sleep.pid, "is no Python but %s: start it by tidemark record --armed, and "
                                     "run tidemark arm" % whose), (2 ** 22, "is not there")):
            status, _, err = end(attach(pid, path))
            expect((status, err), (3, "tidemark: process %d %s\n" % (pid, why)))
        program = armed.start(folder, 100000000, -1)
        pid = wait_for(os.path.join(folder, "here"))
        status, _, err = end(attach(pid, path))
        expect((status, err), (3, "tidemark: process %d was started by tidemark record --armed: run "
                                  "tidemark arm %d\n" % (pid, pid)))
        expect(os.path.exists(path), False)
        program.kill()
        end(program)
    sleep.kill()
    sleep.wait()


def folders():
    return set(glob.glob("/tmp/tidemark-attach-*"))


def check_refused(words, why, **options):
    """A Python that runs `words`. Nothing of a refusal stays."""
    before = folders()
    program = subprocess.Popen(words + ["-c", "print(flush=True); import time; time.sleep(600)"],
                               stdout=subprocess.PIPE, **options)
    program.stdout.readline()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.db")
        status, _, err = end(attach(program.pid, path))
        expect((status, err), (3, "tidemark: process %d %s\n" % (program.pid, why)))
        expect(os.path.exists(path), False)
    program.kill()
    program.wait()
    program.stdout.close()
    expect(folders() - before, set())


def refuses_an_older_python():
    version = subprocess.check_output(
        [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True).strip()
    if tuple(map(int, version.split("."))) < (3, 14):
        check_refused([PYTHON], "runs CPython %s, and tidemark attach takes CPython 3.14 or newer: start it "
                                "by tidemark record --armed, and run tidemark arm" % version)


def refuses_a_program_of_another_user():
    anybodys = [path for path in glob.glob("/usr/bin/python3*") if path[-1].isdigit()]
    if os.geteuid() == 0 and anybodys:
        check_refused(anybodys[:1], "belongs to another user (65534): run tidemark attach as that "
                                            "user", user=65534, cwd="/")


def refuses_another_network_namespace():
    apart = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    if shutil.which("unshare") and subprocess.run(apart + ["true"], capture_output=True).returncode == 0:
        check_refused(apart + [FOUND or PYTHON],
                      "is in another network namespace: run tidemark attach in there")
    else:
        print("left out: another network namespace, which cannot be made here")


def tests():
    refusals = [refuses_in_one_line, refuses_an_older_python, refuses_a_program_of_another_user,
                refuses_another_network_namespace]
    if not FOUND:
        print("left out: what takes CPython 3.14; TIDEMARK_PYTHON314 names none")
        return refusals
    return [equals_a_recording_from_the_start, equals_the_counters_of_a_gpu, is_attached_again, goes_on_when_the_command_is_killed,
            leaves_nothing_when_asked_to_stop, sweeps_what_a_killed_one_left, says_what_it_cannot_hear,
            gets_its_signals] + [gives_up_after_a_minute] * LONG + refusals


if __name__ == "__main__":
    main(*tests())
