"""`tidemark plan` on training programs as people have them, with a real CUDA build of PyTorch:
test_cuda.py PROGRAM. The largest batch for 24 GiB is found in ten rehearsals at most; and rehearsed
once more with that memory, by itself, it fits, and one more does not.

The environment says with what: TIDEMARK (the command), TIDEMARK_VENV_CUDA (a virtual environment)."""
import json
import os
import subprocess
import sys
import tempfile

MEMORY = "24GiB"
MODULES = {"gpt": "torch", "unet": "torch", "llama": "transformers"}


def rehearse(tidemark, command, batch):
    """The exit status, and how many requests were refused."""
    database = "own-%d.db" % batch
    done = subprocess.run([tidemark, "rehearse", "--gpu", "cc=8.0,memory=" + MEMORY, "--steps", "3",
                           "-o", database, "--", *command, str(batch)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = subprocess.run([tidemark, "sql", "-f", "json", database, "SELECT count(*) AS n FROM oom"],
                          stdout=subprocess.PIPE, check=True).stdout
    return done.returncode, json.loads(text)["tables"]["result"][0]["n"]


def main():
    name = sys.argv[1]
    venv, tidemark = os.environ.get("TIDEMARK_VENV_CUDA"), os.environ["TIDEMARK"]
    if not venv:
        print("skipped: TIDEMARK_VENV_CUDA names no virtual environment with PyTorch's CUDA build")
        sys.exit(77)
    python = os.path.join(venv, "bin", "python3")
    if subprocess.run([python, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('%s'))"
                       % MODULES[name]]).returncode:
        print("skipped: no %s in %s" % (MODULES[name], venv))
        sys.exit(77)
    here = os.path.dirname(os.path.abspath(__file__))
    command = [python, os.path.join(here, "programs", name + ".py")]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        done = subprocess.run([tidemark, "plan", "--memory", MEMORY, "--vary", "B=1..512", "-o", "all",
                               "-f", "json", "--", *command, "{B}"], stdout=subprocess.PIPE)
        told = json.loads(done.stdout)["tables"]
        answer, tries = told["plan"][0], told["tries"]
        print(answer, "tries:", [(x["values"], x["result"]) for x in tries])
        assert done.returncode == 0 and answer["result"] == "fits", answer
        assert answer["known_by"] == "rehearsal" and len(tries) <= 10, len(tries)
        largest = int(answer["largest"])
        assert int(answer["refused"]) == largest + 1
        assert rehearse(tidemark, command, largest) == (0, 0)
        status, refused = rehearse(tidemark, command, largest + 1)
        assert status != 0 and refused > 0, (status, refused)
        os.chdir("/")
    print("ok")


main()
