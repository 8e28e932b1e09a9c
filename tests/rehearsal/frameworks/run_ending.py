"""A program that ends right behind a backward, several times: none of them is aborted. Without the
helper's wait for autograd's threads three of eight were. See run.py for the environment."""
import os
import subprocess
import sys
import tempfile

import run

TIMES = 10


def main():
    python = run.interpreter()
    if python is None:
        return 77
    program = os.path.join(run.HERE, "programs", "ending.py")
    for number in range(TIMES):
        with tempfile.TemporaryDirectory(prefix="tidemark-frameworks-") as folder:
            words = [os.environ["TIDEMARK"], "rehearse", "--gpu", run.GPU, "-o",
                     os.path.join(folder, "run.db"), "--", python, program]
            done = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=840)
            run.expect((done.returncode, done.stdout.split()), (0, ["done"]),
                       "run %d\n%s" % (number, done.stderr[-2000:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
