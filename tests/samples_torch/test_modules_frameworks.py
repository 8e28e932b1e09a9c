"""The modules of forward and backward in programs written with the frameworks, against a count of the
test's own: at least 99 % of the bytes. A program whose framework is not installed is left out, and that
is said. See programs/module_frameworks.py.

The second count is by hooks, and a layer that Transformers runs again in a backward calls none of its
own: its blocks count as wrong there, although the frame that asked for them is that layer's."""
import os
import subprocess
import sys

import module_check
import recording
from recording import expect

PROGRAM = os.path.join(recording.PROGRAMS, "module_frameworks.py")
LEAST = 0.99
CASES = [("nanogpt", "torch"), ("plain_gpt2", "torch"), ("plain_llama", "torch"),
         ("gpt2", "transformers"), ("gpt2 checkpoint", "transformers"),
         ("llama", "transformers"), ("llama checkpoint", "transformers"),
         ("lightning", "lightning"), ("fsdp2", "torch.distributed.fsdp._fully_shard")]
# Before 2.7 that module is there, and fails on the CPU: its streams cannot do this.
NEEDS = {"fsdp2": "; import torch; torch.cpu.Stream.record_event"}


def is_installed(words, module):
    done = subprocess.run([recording.PYTHON, "-c", "import " + module + NEEDS.get(words, "")],
                          capture_output=True)
    return done.returncode == 0


def check(words):
    def run():
        rows = module_check.compare(recording.record(PROGRAM, *words.split()))
        whole, wrong, which = module_check.wrong_bytes(rows)
        print("%-18s %11d bytes, %.3f %% right" % (words, whole, 100 - 100.0 * wrong / whole))
        expect(whole > 10 << 20, True, whole)
        expect(wrong <= (1 - LEAST) * whole, True, which)

    run.__name__ = words.replace(" ", "_")
    return run


if __name__ == "__main__":
    found = [words for words, module in CASES if is_installed(words, module)]
    for words, module in CASES:
        if words not in found:
            print("left out, %s is not there or cannot do it: %s" % (module, words))
    if not found:
        sys.exit(77)
    recording.main(*[check(words) for words in found])
