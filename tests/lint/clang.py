"""clang.py ROOT BUILD: every file that is built is one to clang, too, without a warning.

Fuzzers are built by clang alone, by hand: what only gcc takes would be found then. The commands are
those of the build; nothing is made of them.
"""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys

def check(entry):
    words = shlex.split(entry["command"])[1:]
    at = words.index("-o")
    del words[at:at + 2]
    run = subprocess.run(["clang", *words, "-fsyntax-only"], cwd=entry["directory"],
                         capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def main(root, build):
    path = os.path.join(build, "compile_commands.json")
    if not shutil.which("clang") or not os.path.exists(path):
        print("skipped: no clang, or no list of commands")
        sys.exit(77)
    with open(path) as file:
        entries = {entry["file"]: entry for entry in json.load(file)
                   if entry["file"].endswith(".c") and entry["file"].startswith(root + "/")}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [text for text in pool.map(check, entries.values()) if text]
    print("\n".join(wrong) or "files that clang takes: %d" % len(entries))
    sys.exit(bool(wrong) or not entries)


main(*sys.argv[1:])
