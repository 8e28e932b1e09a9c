"""Rehearses programs of which others published memory snapshots of real GPUs, and compares.

    truth.py [--program NAME] [--only TEXT] [--markdown] [--keep FOLDER]

recordings.json has what the real GPUs did, as facts (snapshots.py), where the snapshots are
published, and how each program is started. The programs are not part of this tree. They are looked
for in the folder TIDEMARK_TRUTH, as NAME/code or NAME, each a checkout of the repository that
recordings.json names; a program that was put together from two says so. TIDEMARK_COMMAND is the
command under test; TIDEMARK_VENV_CUDA and TIDEMARK_VENV_CUDA26 are folders of virtual environments
with CUDA builds of PyTorch, 2.11 or newer and 2.6, and what the programs import.

Exit status: 0 what ran was within compare.py's limits, 1 it was not, 77 nothing could be run.
--markdown prints the rows of docs/rehearsal.md; --only takes runs of whose recordings one is called
so.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import compare
import snapshots

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
# In a program's environment: which version of PyTorch, and which of "requires" is missing.
LOOK = """
import importlib.metadata as metadata, sys
missing = []
for wanted in sys.argv[1:]:
    name, _, version = wanted.partition("==")
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        found = None
    if found is None or (version and found != version):
        missing.append(wanted)
print(metadata.version("torch").partition("+")[0], *missing)
"""


class CannotRun(Exception):
    """Something is missing here that the run needs."""


def catalogue():
    with open(os.path.join(HERE, "recordings.json")) as file:
        return json.load(file)


class Program(object):
    """Code of others, copied to where the changes that this machine needs can be made."""

    def __init__(self, name, about, folder):
        self.name, self.about, self.folder = name, about, folder
        self.code = os.path.join(folder, "code")

    def prepare(self):
        shutil.copytree(self._found(), self.code)
        for name in self.about.get("empty", []):
            path = os.path.join(self.code, name)
            os.chmod(os.path.dirname(path), 0o755)
            if os.path.exists(path):
                os.remove(path)
            open(path, "w").close()
        for name, changes in self.about.get("replace", {}).items():
            path = os.path.join(self.code, name)
            with open(path) as file:
                text = file.read()
            for old, new in changes:
                text = text.replace(old, new)
            os.chmod(os.path.dirname(path), 0o755)
            os.remove(path)
            with open(path, "w") as file:
                file.write(text)

    def _found(self):
        root = os.environ.get("TIDEMARK_TRUTH")
        if not root:
            raise CannotRun("TIDEMARK_TRUTH names no folder of programs")
        for place in (os.path.join(root, self.name, "code"), os.path.join(root, self.name)):
            if os.path.isdir(place):
                return place
        raise CannotRun("no %s in %s: %s" % (self.name, root, self.about["source"]))

    def environment(self):
        paths = [os.path.join(self.code, path) for path in self.about["path"]] + [self.code]
        inherited = os.environ.get("PYTHONPATH")
        # What torch.compile finds compiled it does not try out, and trying out takes memory.
        caches = {name: os.path.join(self.folder, "compiled")
                  for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}
        return dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **caches,
                    PYTHONPATH=os.pathsep.join(paths + ([inherited] if inherited else [])))


class Run(object):
    """One start of a program, which writes one snapshot or several."""

    def __init__(self, program, about):
        self.program, self.about = program, about

    def interpreter(self):
        """(path, version of PyTorch)"""
        variable = "TIDEMARK_VENV_CUDA26" if self.about["interpreter"] == "2.6" else \
            "TIDEMARK_VENV_CUDA"
        folder = os.environ.get(variable)
        if not folder:
            raise CannotRun("%s names no environment" % variable)
        python = os.path.join(folder, "bin", "python")
        done = subprocess.run([python, "-c", LOOK] + self.program.about["requires"],
                              capture_output=True, text=True, env=self.program.environment())
        if done.returncode:
            raise CannotRun("%s: %s" % (variable, done.stderr.strip().rpartition("\n")[2]))
        version, *missing = done.stdout.split()
        if missing:
            raise CannotRun("%s has no %s" % (variable, ", ".join(missing)))
        return python, version

    def rehearse(self, tidemark):
        """[Comparison], and what each ran on."""
        python, version = self.interpreter()
        known = subprocess.run([tidemark, "rehearse", "--gpu", "list"], capture_output=True,
                               text=True).stdout
        if "=" not in self.about["gpu"] and self.about["gpu"] not in known.split():
            raise CannotRun("%s is no GPU of this version" % self.about["gpu"])
        work = os.path.join(self.program.folder, "run")
        written = [os.path.join(work, recording["writes"]) for recording in self.about["recordings"]]
        for path in written:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        os.makedirs(work, exist_ok=True)
        command = [word.replace("HERE", HERE).replace("CODE", self.program.code)
                   for word in self.about["command"]]
        database = os.path.join(self.program.folder, "run.db")
        if os.path.exists(database):
            os.remove(database)
        done = subprocess.run([tidemark, "rehearse", "--gpu", self.about["gpu"], "--gpus",
                               str(self.about.get("gpus", 1)), "-o", database, "--", python] +
                              command, cwd=work, capture_output=True, text=True,
                              env=self.program.environment())
        if done.returncode or not all(map(os.path.exists, written)):
            raise RuntimeError("%s ended with status %d:\n%s%s" % (
                " ".join(command), done.returncode, done.stdout[-2000:], done.stderr[-4000:]))
        return [self._compare(tidemark, recording, path, version)
                for recording, path in zip(self.about["recordings"], written)]

    def _compare(self, tidemark, recording, path, version):
        name = "%s, %s" % (self.program.name, recording["name"])
        same_version = version == self.about["torch"]
        if "counters" in recording:
            with open(path) as file:
                comparison = compare.Counted(name, recording["counters"], json.load(file),
                                             same_version)
        else:
            rehearsed = snapshots.facts_of(tidemark, path,
                                           recording.get("frees_in_any_order", False))
            comparison = compare.Comparison(name, recording["facts"], rehearsed, same_version,
                                            recording.get("reserved_within", compare.RESERVED))
        os.remove(path)
        comparison.versions = (self.about["torch"] or "not said", version)
        comparison.gpu = self.about["gpu"]
        return comparison


def report(comparison, markdown):
    real, rehearsed = comparison.versions
    cells = comparison.cells()
    if markdown:
        cells[1:1] = [real, rehearsed, comparison.gpu]
        print("| %s |" % " | ".join(cells))
    elif isinstance(comparison, compare.Counted):
        print("%s: highest counter %s GiB, rehearsed %s, the worst %s off, equal: %s; torch %s, "
              "rehearsed on %s as %s" % (*cells, real, rehearsed, comparison.gpu))
    else:
        print("%s: allocated %s MiB, rehearsed %s (%s); reserved %s, rehearsed %s (%s); events the "
              "same: %s; torch %s, rehearsed on %s as %s"
              % (*cells, real, rehearsed, comparison.gpu))
    sys.stdout.flush()


def rehearse_program(tidemark, name, options, folder):
    """(how many recordings were compared, how many failed)"""
    known = catalogue()
    program = Program(name, known["programs"][name], folder)
    program.prepare()
    compared = failed = 0
    for about in known["runs"]:
        if about["program"] != name or not any(options.only in recording["name"]
                                               for recording in about["recordings"]):
            continue
        try:
            comparisons = Run(program, about).rehearse(tidemark)
        except CannotRun as why:
            print("%s: not run: %s" % (name, why), file=sys.stderr)
            continue
        for comparison in comparisons:
            report(comparison, options.markdown)
            failures = list(comparison.failures())
            for failure in failures:
                print("FAILED: %s: %s" % (comparison.name, failure), file=sys.stderr)
            compared += 1
            failed += bool(failures)
    return compared, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", action="append", choices=sorted(catalogue()["programs"]))
    parser.add_argument("--only", metavar="TEXT", default="")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER", help="work there, and leave what was made")
    options = parser.parse_args()
    tidemark = os.path.abspath(os.environ["TIDEMARK_COMMAND"])
    compared = failed = 0
    for name in options.program or sorted(catalogue()["programs"]):
        folder = options.keep and os.path.join(os.path.abspath(options.keep), name)
        if folder:
            os.makedirs(folder)
        folder = folder or tempfile.mkdtemp(prefix="tidemark-truth-")
        try:
            done = rehearse_program(tidemark, name, options, folder)
            compared, failed = compared + done[0], failed + done[1]
        except CannotRun as why:
            print("%s: not run: %s" % (name, why), file=sys.stderr)
        finally:
            if not options.keep:
                shutil.rmtree(folder, ignore_errors=True)
    print("%d recordings compared, %d outside of the limits" % (compared, failed), file=sys.stderr)
    return 1 if failed else 0 if compared else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
