"""The phases of programs that torch.compile compiled, and that they compute the same bits recorded
and not. The program is that of ../torch. Older versions of torch do not compile it."""
import os

import recording
from recording import SHARED, expect

PROGRAM = os.path.join(SHARED, "compiling.py")
STEP = "zero_grad forward loss backward optimizer"


def compiled_programs():
    """With what is compiled one phase; a step that is compiled as a whole has no forward."""
    if recording.torch_version() < (2, 4):
        raise recording.Skipped("this torch is older than 2.4")
    run = recording.record(PROGRAM)
    run.is_whole(["marks of several threads"])
    cases = run.cases()
    for name in ("model", "in_place", "function"):
        expect(run.steps(*cases[name]), [STEP] * 3, name)
    whole = run.steps(*cases["whole_step"])
    expect([step.replace(" after backward", "") for step in whole],
           ["zero_grad forward backward optimizer"] * 3)
    expect(run.out, recording.bare(PROGRAM))


if __name__ == "__main__":
    recording.main(compiled_programs)
