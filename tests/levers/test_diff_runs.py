"""`tidemark diff` of two recordings of samples/torch/seq2seq.py that differ in one thing: it says
which phases' peaks moved, and which call site moved them, and adds up."""
import recording
from peaks import about
from recording import expect

L = recording.SEQ2SEQ_LOGITS

as_it_is, dropped, none = (recording.shared(name) for name in
                           ("seq2seq", "seq2seq-dropped", "seq2seq-none"))


def diff(a, b):
    """Its tables, and the change of allocated, which groups and categories add up to."""
    done = recording.run([recording.TIDEMARK, "diff", a().path, b().path, "-f", "json",
                          "--top", "1000"])
    expect(done.returncode, 0, done.stderr)
    tables = recording.json.loads(done.stdout)["tables"]
    change = [row["change"] for row in tables["change"] if row["quantity"] == "allocated"][0]
    for name in ("by_category", "groups"):
        expect(sum(row["change"] for row in tables[name]), change, name)
    return tables, change


def moved(tables):
    """{phase: change} of those whose peak is another by a hundredth of the logits."""
    return {row["phase"]: row["change"] for row in tables["phases"]
            if row["change"] and abs(row["change"]) > L // 100 and row["step"] is not None}


def logits_that_are_dropped():
    tables, change = diff(as_it_is, dropped)
    expect(change, -L)
    expect([row["category"] for row in tables["by_category"] if row["change"]],
           ["activation, held by the program"])
    changed = [row for row in tables["groups"] if row["change"]]
    expect(len(changed), 1, changed)
    expect("Writer.forward" in changed[0]["a_site_short"], True, changed[0])
    expect((changed[0]["a_blocks"], changed[0]["b_blocks"]), (1, 0))
    about(-moved(tables)["backward"], L, "backward")
    expect("loss" in moved(tables), False, "loss still has them")


def gradients_that_are_none():
    tables, change = diff(as_it_is, none)
    gradients = as_it_is().rows("SELECT sum(a.size) FROM allocation a "
                                "JOIN tag_text t ON t.id = a.tag "
                                "WHERE t.category = 'parameter'")[0][0]
    about(-change, gradients, "all gradients")
    expect([row["category"] for row in tables["by_category"] if row["change"]], ["gradient"])
    for phase in ("forward", "loss", "backward"):
        about(-moved(tables)[phase], gradients, phase)


def nothing_changed():
    tables, change = diff(as_it_is, as_it_is)
    expect(change, 0)
    expect([row for row in tables["groups"] if row["change"]], [])
    expect(moved(tables), {})


if __name__ == "__main__":
    recording.main(logits_that_are_dropped, gradients_that_are_none, nothing_changed)
