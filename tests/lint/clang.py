"""clang.py ROOT BUILD: every C file that this build compiles is one to clang, too, without a warning.

Fuzzers are built by clang alone, by hand: what only gcc takes would be found then. The commands are
those of the build, each that differs by more than where its object goes.
"""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys


def words_of(entry):
    words = shlex.split(entry["command"])[1:]
    for option in ("-o", "-MT", "-MF"):
        if option in words:
            del words[words.index(option):words.index(option) + 2]
    return words


def check(job):
    words, folder = job
    run = subprocess.run(["clang", *words, "-Werror", "-fsyntax-only"], cwd=folder,
                         capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def main(root, build):
    path = os.path.join(build, "compile_commands.json")
    if not shutil.which("clang") or not os.path.exists(path):
        print("skipped: no clang, or no list of commands")
        sys.exit(77)
    with open(path) as file:
        jobs = {(tuple(words_of(entry)), entry["directory"]) for entry in json.load(file)
                if entry["file"].endswith(".c") and entry["file"].startswith(root + "/")}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [text for text in pool.map(check, sorted(jobs)) if text]
    print("\n".join(wrong) or "compilations that clang takes: %d" % len(jobs))
    sys.exit(bool(wrong) or not jobs)


main(*sys.argv[1:])
