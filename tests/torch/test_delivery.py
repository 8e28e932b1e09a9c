"""How the helper gets into a process, and that the process cannot tell."""
import ast
import os
import re
import subprocess

import support

TINY = os.path.join(support.PROGRAMS, "tiny.py")
LOADED = "loader SourceFileLoader ['name', 'path']\nfinders []\n"
STEP = "Z F B O"
# The environment of a child that outlived its recorder.
NOBODY = {"PYTHONPATH": support.HELPER, "TIDEMARK_SOCKET": "tidemark-nobody",
          "LD_PRELOAD": os.environ["TIDEMARK_GUEST"]}


def seen(run, what):
    """The run was as it is without us, and its steps were marked."""
    support.expect(run.status, 0, run.err)
    support.expect(run.err, "", what)
    got = support.sequence(run.of("enter", "exit")).split()
    support.expect(got[-8:], (STEP + " " + STEP).split(), what)
    support.expect("phases" in run.notes(), True, run.notes())


def with_the_environment():
    """In the short form by imports_that_come_to_nothing, which has the same program."""
    for program in support.more("tiny.py"):
        run = support.record(program)
        seen(run, "a program")
        support.expect(run.out.endswith(LOADED), True, run.out)
        support.expect(support.sequence(run.of("enter", "exit")), " ".join([STEP] * 40))
    for command in support.more(["-m", "tiny"], ["-c", "import tiny; tiny.train()"], ["-s", TINY]):
        run = support.record([support.PYTHON] + command,
                             env={"PYTHONPATH": support.HELPER + ":" + support.PROGRAMS})
        seen(run, command)


def where_the_environment_is_not_read():
    """-I, -E and -S, and a PYTHONPATH that the program's launcher replaced: from the library."""
    for flags in (["-I", "-S"],) + support.more(["-I"], ["-E"], ["-S"]):
        path = "" if "-S" not in flags else "import sys; sys.path += %r;" % [
            entry for entry in support.bare(
                [support.PYTHON, "-c", "import sys; print('\\n'.join(sys.path))"]
            ).out.split("\n") if "packages" in entry]
        code = path + "import runpy; runpy.run_path(%r, run_name='__main__')" % TINY
        seen(support.record([support.PYTHON] + flags + ["-c", code]), flags)
    for changed in support.more(None, "."):
        run = support.record("tiny.py", env={"PYTHONPATH": changed})
        seen(run, "PYTHONPATH=%s" % changed)
        support.expect(run.out.endswith(LOADED), True, run.out)


def interrupted_while_it_starts():
    """What a signal's handler raises while the helper is being started from the library is the
    program's own; what goes wrong in the helper is not."""
    path = support.folder()
    os.mkdir(os.path.join(path, "tidemark"))
    code = """if 1:
        import torch
        raised, kept = [], []
        for i in range(10000):
            try:
                kept = [torch.ones(4) for _ in range(4)]
            except BaseException as error:
                raised.append(type(error).__name__)
        import sys
        print(sys.raised_once, raised)"""
    for error, seen_by in (("KeyboardInterrupt", "True ['KeyboardInterrupt']"),
                           ("ValueError", "True []")) + support.more(
                               ("SystemExit(3)", "True ['SystemExit']")):
        with open(os.path.join(path, "tidemark", "_boot.py"), "w") as boot:
            boot.write("import sys\n"
                       "if not hasattr(sys, 'raised_once'):\n"
                       "    sys.raised_once = True\n"
                       "    raise %s\n" % error)
        run = support.record([support.PYTHON, "-I", "-c", code], env={"TIDEMARK_PYTHON": path})
        support.expect((run.status, run.out), (0, seen_by + "\n"), error + ": " + run.err)
    support.remove(path)


def without_torch():
    code = "import sys; print(sorted(m for m in sys.modules if 'tidemark' in m))"
    run = support.record([support.PYTHON, "-c", code])
    support.expect((run.status, run.out, run.events), (0, "[]\n", []), run.err)


def without_a_recorder():
    for changed in support.more(NOBODY, dict(NOBODY, LD_PRELOAD=None)):
        run = support.bare("tiny.py", env=changed)
        support.expect((run.status, run.err), (0, ""))


def calls_where_nobody_records():
    """In the short form with the library and without its recorder, which is more than neither."""
    code = (
        "import tidemark, torch\n"
        "with tidemark.phase('x'):\n"
        "    tidemark.step(1); tidemark.mark('m', 2); tidemark.tag(torch.ones(2), 'input', 'i')\n"
        "try:\n"
        "    tidemark.tag(torch.ones(2), 'nonsense')\n"
        "except KeyError:\n"
        "    print(tidemark.recording())\n"
    )
    for env in (NOBODY,) + support.more({"PYTHONPATH": support.HELPER}):
        run = support.bare([support.PYTHON, "-c", code], env=env)
        support.expect((run.status, run.out, run.err), (0, "False\n", ""))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def other_customizations():
    """Ours hides another sitecustomize: it runs as without us, and is what programs see."""
    for name in ("sitecustomize.py",) + support.more("sitecustomize/__init__.py"):
        folder = support.folder()
        write(os.path.join(folder, name), "SAID = __name__\nprint('customized')\n")
        run = support.record("tiny.py", env={"PYTHONPATH": support.HELPER + ":" + folder})
        seen(run, name)
        support.expect(run.out, "customized\nother sitecustomize\n" + LOADED)
        support.remove(folder)


def other_customizations_that_fail():
    """Python's own message about it is the same with us."""
    for text in ("raise ValueError('no')",) + support.more("import nowhere_to_be_found"):
        folder = support.folder()
        write(os.path.join(folder, "sitecustomize.py"), text + "\n")
        # Python says it before it knows which program it is to run.
        alone = support.bare([support.PYTHON, "-c", "pass"], env={"PYTHONPATH": folder})
        run = support.record("tiny.py", env={"PYTHONPATH": support.HELPER + ":" + folder})
        support.expect((run.status, run.err), (alone.status, alone.err), text)
        support.expect("Error" in run.err, True, "the test does not fail as it should")
        support.expect(len(run.of("enter")) > 100, True, text)
        support.remove(folder)


def paths_are_left_alone():
    code = (
        "import sys; print(sys.path, sorted(set(sys.modules) - {'sitecustomize'}),"
        " [f for f in sys.meta_path if type(f).__name__ != 'Finder'])"
    )
    folder = support.folder()
    alone = support.bare([support.PYTHON, "-c", code], env={"PYTHONPATH": folder})
    run = support.record([support.PYTHON, "-c", code],
                         env={"PYTHONPATH": support.HELPER + ":" + folder})
    addresses = r" object at 0x[0-9a-f]+"
    support.expect(re.sub(addresses, "", run.out).replace(repr(support.HELPER) + ", ", ""),
                   re.sub(addresses, "", alone.out))
    support.remove(folder)


def imports_that_come_to_nothing():
    """A question whether torch is there, and an import that fails, do not disarm the finder; four
    threads that then import it are marked once."""
    folder = support.folder()
    write(os.path.join(folder, "torch.py"), "raise ImportError('broken')\n")
    code = (
        "import importlib.util, sys, threading\n"
        "sys.path.insert(0, %r)\n"
        "try:\n"
        "    import torch\n"
        "except ImportError as error:\n"
        "    assert str(error) == 'broken'\n"
        "sys.path.remove(%r)\n"
        "importlib.invalidate_caches()\n"
        "assert importlib.util.find_spec('torch') is not None\n"
        "def load():\n"
        "    import torch\n"
        "threads = [threading.Thread(target=load) for _ in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "import runpy; runpy.run_path(%r, run_name='__main__')\n" % (folder, folder, TINY)
    )
    run = support.record([support.PYTHON, "-c", code])
    seen(run, "after a failed import")
    support.expect(run.out.endswith(LOADED), True, run.out)
    support.remove(folder)
    support.expect(support.sequence(run.of("enter", "exit")), " ".join([STEP] * 40))


def virtual_environments():
    if not support.LONG:
        return  # tests/samples_torch/test_users.py has one
    folder = support.folder()
    made = subprocess.run([support.PYTHON, "-m", "venv", "--without-pip",
                           "--system-site-packages", folder], capture_output=True)
    if made.returncode:
        print("     no venv here")
        return
    run = support.record([os.path.join(folder, "bin", "python"), TINY],
                         env={"PYTHONPATH": support.HELPER})
    if "No module named 'torch'" not in run.err:  # torch may live in a venv of its own
        seen(run, "venv")
    support.remove(folder)


def the_language_is_that_of_3_6():
    for root, folders, names in os.walk(support.HELPER):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(root, name)) as file:
                    ast.parse(file.read(), name, feature_version=(3, 6))


def nothing_is_imported_at_the_start():
    code = "import sys; print(sorted(sys.modules))"
    alone = support.bare([support.PYTHON, "-c", code])
    run = support.record([support.PYTHON, "-c", code])
    extra = set(eval(run.out)) - set(eval(alone.out))
    support.expect(extra - {"sitecustomize"}, set())


if __name__ == "__main__":
    support.main(with_the_environment, where_the_environment_is_not_read,
                 interrupted_while_it_starts, without_torch,
                 without_a_recorder, calls_where_nobody_records, other_customizations,
                 other_customizations_that_fail,
                 paths_are_left_alone, imports_that_come_to_nothing,
                 virtual_environments, the_language_is_that_of_3_6,
                 nothing_is_imported_at_the_start)
