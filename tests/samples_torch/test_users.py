"""However a program is started, it runs as it does without us: the same output, the same status; and
plain lines say what was recorded and what could not be."""
import os
import re
import shutil
import subprocess
import tempfile

import recording
from recording import PYTHON, TIDEMARK, expect

WORK = tempfile.mkdtemp(prefix="tidemark-users-")
TRAIN = """
import sys, torch
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(4, 3)).sum().backward()
    optimizer.step()
print("trained", float(net.weight.sum()) != 0, sys.flags.isolated, __name__)
sys.exit(7)
"""
STEP = "zero_grad forward loss backward optimizer"
NOTHING = "what ran uses neither PyTorch nor tidemark.h"


def write(name, text, mode=0o644):
    path = os.path.join(WORK, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def run(command, extra=None):
    env = recording.environment()
    env.update(extra or {})
    return subprocess.run(command, env=env, cwd=WORK, capture_output=True, text=True, timeout=900)


def trained(isolated=0):
    """What TRAIN does."""
    return subprocess.CompletedProcess([], 7, "trained True %d __main__\n" % isolated, "")


class Used(object):
    """A command, run bare and recorded. bare: what it does without us where that is known; in the long
    form it is run all the same."""

    def __init__(self, command, extra=None, bare=None):
        self.bare = run(command, extra) if recording.LONG or not bare else bare
        path = os.path.join(WORK, "run.db")
        if os.path.exists(path):
            os.remove(path)
        done = run([TIDEMARK, "record", "-o", path, "--"] + command, extra)
        ours = [line for line in done.stderr.splitlines(True) if line.startswith("tidemark: ")]
        theirs = [line for line in done.stderr.splitlines(True) if line not in ours]
        self.lines = "".join(ours)
        expect((done.returncode, done.stdout, "".join(theirs)),
               (self.bare.returncode, self.bare.stdout, self.bare.stderr), command)
        self.recording = recording.Recording(path)

    def says(self, text):
        expect(text in self.lines, True, (text, self.lines))

    def has_trained(self):
        """With everything: blocks, stacks, phases."""
        expect((self.bare.returncode, "trained True" in self.bare.stdout), (7, True),
               self.bare.stderr)
        found = self.recording.rows("SELECT DISTINCT h.process FROM heap h JOIN allocation a "
                                    "ON a.heap = h.id")
        expect(len(found), 1, "processes with blocks")
        expect(self.recording.steps(process=found[0][0]), [STEP] * 2)
        live = {part for row in self.recording.rows("SELECT live FROM process WHERE live <> ''")
                for part in row[0].split(", ")}
        expect({"torch-cpu", "stacks", "phases"} <= live, True, live)
        expect("api" in live, False, live)
        expect(self.recording.rows("SELECT count(*) FROM allocation WHERE site IS NULL"), [(0,)])
        self.says("nothing was lost")
        self.says("allocated on cpu, step ")


def scripts_and_flags():
    train = write("train.py", TRAIN)
    Used([PYTHON, "-I", "-c", TRAIN], bare=trained(1)).has_trained()
    for command in recording.more(
            [train], ["-c", TRAIN], ["-m", "train"], ["-I", train], ["-E", train], ["-s", train],
            ["-O", train]):
        Used([PYTHON] + command).has_trained()


def a_virtual_environment():
    """Where torch is to be found by a path, for it may be in an environment of its own."""
    folder = os.path.join(WORK, "venv")
    made = subprocess.run([PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", folder],
                          capture_output=True)
    if made.returncode:
        print("     no venv here")
        return
    where = run([PYTHON, "-c", "import importlib.util as util, os; print(os.path.dirname("
                 "util.find_spec('torch').submodule_search_locations[0]))"])
    packages = [entry for entry in os.listdir(os.path.join(folder, "lib"))]
    write("venv/lib/%s/site-packages/torch.pth" % packages[0], where.stdout)
    Used([os.path.join(folder, "bin", "python"), write("train.py", TRAIN)],
         bare=trained()).has_trained()


def a_sitecustomize_that_is_there():
    if not recording.LONG:
        return  # tests/torch/test_delivery.py has it too
    write("own/sitecustomize.py", "print('customized')\n")
    used = Used([PYTHON, write("train.py", TRAIN)], {"PYTHONPATH": os.path.join(WORK, "own")})
    used.has_trained()
    expect(used.bare.stdout.startswith("customized\n"), True, used.bare.stdout)


def a_program_without_torch():
    used = Used([PYTHON, "-c", "import sys; print(sorted(sys.modules)[:3]); sys.exit(3)"])
    expect(used.bare.returncode, 3)
    used.says(NOTHING)
    used = Used(["/bin/sh", "-c", "echo shell; exit 4"])
    expect((used.bare.returncode, used.bare.stdout), (4, "shell\n"))
    used.says(NOTHING)


def a_static_binary():
    static = os.environ.get("TIDEMARK_STATIC")
    if not static:
        print("     not built")
        return
    used = Used([static, "exit", "6"])
    expect(used.bare.returncode, 6)
    used.says("did not take part: %s is linked statically" % static)


def scripts_that_set_their_own_preload():
    """One that adds to it is recorded; one that replaces it is not, and that is said."""
    train = write("train.py", TRAIN)
    # Where nothing is recorded, what is not recorded need not be torch.
    plain = train if recording.LONG else write("plain.py", "print('trained'); raise SystemExit(7)\n")
    start = "#!/bin/sh\nexport LD_PRELOAD=%s\n%s%s %s\n"
    adds = write("adds.sh", start % ('"libm.so.6 $LD_PRELOAD"', "", PYTHON, train), 0o755)
    Used([adds], bare=trained()).has_trained()
    becomes = write("becomes.sh", start % ("libm.so.6", "exec ", PYTHON, plain), 0o755)
    used = Used([becomes])
    expect(used.bare.returncode, 7)
    expect(bool(re.search("did not take part: it .*bec[ao]me .*python", used.lines)), True, used.lines)
    used.says("LD_PRELOAD was replaced")
    calls = write("calls.sh", start % ("libm.so.6", "", PYTHON, plain), 0o755)
    used = Used([calls])
    expect(used.bare.returncode, 7)
    used.says(NOTHING)


def sources_are_what_is_used():
    """The calls of tidemark.h and of package tidemark are a source where the program makes them."""
    mark = "try:\n    import tidemark\n    tidemark.mark('here', 1)\nexcept ImportError:\n    pass\n"
    for calls, wanted in ((mark, True),) + recording.more(("", False)):
        used = Used([PYTHON, "-c", calls + TRAIN], bare=trained())
        [(live,)] = used.recording.rows("SELECT live FROM process WHERE id = 1")
        expect(("torch-cpu" in live, "api" in live.split(", ")), (True, wanted), live)


if __name__ == "__main__":
    try:
        recording.main(scripts_and_flags, a_virtual_environment, a_sitecustomize_that_is_there,
                       a_program_without_torch, a_static_binary,
                       scripts_that_set_their_own_preload, sources_are_what_is_used)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
