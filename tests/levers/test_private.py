"""A recording of `record --private` gives the answers of an open one: the same sites, the same levers,
the same phases."""
import json
import os
import subprocess

import recording
from recording import expect

PROGRAM = """
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(torch.randn(64, 64)), torch.arange(64) % 10)
    loss.backward()
    optimizer.step()
"""


def peak_of(folder, *options):
    program, path = os.path.join(folder, "secret.py"), os.path.join(folder, "run.db")
    with open(program, "w") as out:
        out.write(PROGRAM)
    done = recording.run([recording.TIDEMARK, "record", "-o", path, *options, "--",
                          recording.PYTHON, program])
    expect(done.returncode, 0, done.stderr)
    text = subprocess.check_output([recording.TIDEMARK, "peak", path, "-f", "json"], text=True)
    return json.loads(text)["tables"], path


def without_paths(rows):
    """The column `site` has a whole path, and times are never the same."""
    return [{k: v for k, v in row.items() if k not in ("site", "process", "seq") and
             not k.endswith("_ns")} for row in rows]


def a_private_recording_answers_alike():
    with recording.tempfile.TemporaryDirectory() as first, \
            recording.tempfile.TemporaryDirectory() as second:
        theirs, _ = peak_of(first)
        ours, path = peak_of(second, "--private")
        for name in ("by_site", "levers", "by_category"):
            expect(without_paths(ours[name]), without_paths(theirs[name]), name)
            expect(len(theirs[name]) > 0, True, name)
        expect(any("secret.py" in json.dumps(row) for row in ours["by_site"]), True)
        with open(path, "rb") as file:
            expect(second.encode() in file.read(), False)


if __name__ == "__main__":
    recording.run_tests(a_private_recording_answers_alike)
