"""What the tests of levers share: the tables of `tidemark peak`, and what they must come to."""
from recording import expect

ABOUT = 0.01  # of the new peak


class Peak(object):
    """`tidemark peak` of a recording: its own row, and the rows of its other sections."""

    def __init__(self, run, *options):
        self.tables = run.report("peak", *options)
        rows = self.tables["peak"]
        expect(len(rows), 1, "processes with a peak")
        self.where = rows[0]
        self.bytes = rows[0]["allocated"]

    def lever(self, name):
        """The largest of that name, or None."""
        found = [row for row in self.tables["levers"] if row["lever"] == name]
        return found[0] if found else None

    def findings(self):
        return [row["finding"] for row in self.tables["findings"]]

    def promise(self, name):
        lever = self.lever(name)
        expect(lever is not None, True, "%s is among %r" % (name, self.tables["levers"]))
        return self.bytes - lever["bytes"]


def about(got, wanted, what):
    if abs(got - wanted) > ABOUT * wanted:
        raise AssertionError("%s: %d, but wanted about %d" % (what, got, wanted))


def keeps(before, name, after):
    """The peak of a run with the change really made is the promised one."""
    about(before.promise(name), after.bytes, name)
    expect(before.lever(name)["at_most"], 0, "%s says 'at most'" % name)
    expect(after.lever(name), None, "%s is advised although it is on" % name)
