"""torch.compile captures the same graphs with us, and what stays outside of them is marked."""
import support


def has_compile():
    code = "import torch, torch._dynamo.testing; torch.compile, torch.export.export"
    return support.bare([support.PYTHON, "-c", code]).status == 0


def the_same_is_captured():
    if not has_compile():
        raise support.Skipped("this torch does not compile, or misses what that takes")
    alone, run = support.bare("compiling.py"), support.record("compiling.py")
    support.expect(alone.status, 0, alone.err)
    support.expect((run.status, run.out), (0, alone.out), run.err)
    support.expect("breaks 0" in alone.out, True, alone.out)
    for way in ("model", "in_place"):
        got = support.sequence(run.between("case " + way))
        support.expect(got, " ".join(["Z F L B O"] * 3), way)
    got = support.sequence(run.between("case function"))
    support.expect(got, " ".join(["Z L B O"] * 3), "a function that is compiled is no module call")
    got = support.sequence(run.between("case whole_step"))
    support.expect(got.replace(" ", "").count("B"), 3, got)


if __name__ == "__main__":
    support.main(the_same_is_captured)
