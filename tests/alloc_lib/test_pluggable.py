"""samples/torch/pluggable.py where there is no GPU: it says so, and all that it and
docs/pluggable.md name is in the library.

    test_pluggable.py LIBRARY ROOT        (the environment has TIDEMARK_TEST_PYTHON)
"""
import ctypes
import os
import re
import subprocess
import sys

LIBRARY, ROOT = sys.argv[1:]
SAMPLE = os.path.join(ROOT, "samples", "torch", "pluggable.py")
PAGE = os.path.join(ROOT, "docs", "pluggable.md")
NAME = re.compile(r'"(tidemark_torch_\w+)"')
SETTER = re.compile(r'"(set_\w+_fn)"')


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_names():
    library = ctypes.CDLL(LIBRARY)
    in_sample, in_page = (set(NAME.findall(text_of(path))) for path in (SAMPLE, PAGE))
    assert len(in_sample) == 9, in_sample
    assert in_sample == in_page, in_sample ^ in_page
    for name in in_sample:
        assert getattr(library, name), name
    setters = [set(SETTER.findall(text_of(path))) for path in (SAMPLE, PAGE)]
    assert len(setters[0]) == 5 and setters[0] == setters[1], setters


def check_sample():
    command = [os.environ["TIDEMARK_TEST_PYTHON"], SAMPLE, "--library", LIBRARY, "--steps", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if "No module named 'torch'" in done.stderr:
        return "its names; no torch here"
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode == 0:
        assert done.stdout.startswith("loss "), done.stdout
        return "its names, and a training with it"
    assert done.returncode == 1 and "there is no GPU here" in done.stderr, done
    return "its names, and what it says without a GPU"


check_names()
print("ok", check_sample())
