"""What a program computes in is said once: dtypes of all parameters, and those of the first graphs,
wherever the program casts."""
import os

import recording
from recording import expect

PROGRAM = os.path.join(recording.PROGRAMS, "dtypes.py")
FLOAT, HALF = "float32", "bfloat16"


runs = {}


def dtypes(how, key):
    if how not in runs:
        runs[how] = recording.record(PROGRAM, how)
    return [row[0] for row in runs[how].rows(
        "SELECT value FROM setting WHERE key = ? ORDER BY value", key)]


def parameters_are_of():
    for how, want in (("plain", [FLOAT]), ("around", [FLOAT]), ("inside", [FLOAT]), ("half", [HALF]),
                      ("frozen", [HALF, FLOAT])):
        expect(dtypes(how, "parameter_dtype"), want, how)


def graphs_are_of():
    if recording.torch_version() < (2, 4):
        expect(dtypes("plain", "graph_dtype") in (["unknown"], [FLOAT]), True)
        return
    for how, want in (("plain", [FLOAT]), ("around", [HALF, FLOAT]), ("inside", [HALF, FLOAT]),
                      ("half", [HALF, FLOAT]), ("frozen", [FLOAT])):
        expect(dtypes(how, "graph_dtype"), want, how)


if __name__ == "__main__":
    recording.main(parameters_are_of, graphs_are_of)
