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
    python = os.environ["TIDEMARK_TEST_PYTHON"]
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        return "its names only: no torch here"
    has_gpu = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    if subprocess.run([python, "-c", has_gpu], capture_output=True).returncode == 0:
        return "its names only: there is a GPU"
    done = subprocess.run([python, SAMPLE, "--library", LIBRARY], capture_output=True, text=True)
    assert done.returncode == 1, done
    assert "there is no GPU here" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return "its names, and what it says without a GPU"


check_names()
print("ok", check_sample())
