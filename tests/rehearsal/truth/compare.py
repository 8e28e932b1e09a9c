"""A rehearsed run beside a real one: what is held, and how far they are apart.

    same version of PyTorch     allocated within 0.1 %, every event the same, in order
    another version             allocated within 0.5 %: operations have other temporaries there
    both                        reserved within 1.5 %: it follows from the addresses that the driver
                                gives out as well, which differ from one process to the next

A recording for which this is not so has a wider limit in recordings.json, beside the reason.
"""
import snapshots

SAME_VERSION, OTHER_VERSION, RESERVED = 0.1, 0.5, 1.5  # percent
MIB = 1 << 20


class Comparison(object):
    """real, rehearsed: facts (snapshots.facts_of); same_version: of PyTorch."""

    def __init__(self, name, real, rehearsed, same_version, reserved_within=RESERVED):
        self.name, self.real, self.rehearsed = name, real, rehearsed
        self.same_version, self.reserved_within = same_version, reserved_within

    def off(self, quantity):
        """Percent; more than 0: the rehearsal is too high."""
        return (self.rehearsed[quantity] / self.real[quantity] - 1) * 100

    def events_equal(self):
        return (self.rehearsed["events"] == self.real["events"] and
                self.rehearsed["digests"] == self.real["digests"])

    def events_same(self):
        """From the beginning, rounded down to whole strides if they are not all."""
        if self.events_equal():
            return self.real["events"]
        return min(snapshots.same_until(self.rehearsed["digests"].split(),
                                        self.real["digests"].split()),
                   self.real["events"] - 1)

    def failures(self):
        limit = SAME_VERSION if self.same_version else OTHER_VERSION
        for quantity, most in (("allocated", limit), ("reserved", self.reserved_within)):
            if abs(self.off(quantity)) > most:
                yield "%s is %+.2f %% off, more than %g %%" % (quantity, self.off(quantity), most)
        if self.same_version and not self.events_equal():
            yield "the histories part between event %d and the %d that follow" % (
                self.events_same(), snapshots.EVERY)

    def cells(self):
        """One row of docs/rehearsal.md."""
        row = [self.name]
        for quantity in ("allocated", "reserved"):
            row += ["%.1f" % (self.real[quantity] / MIB), "%.1f" % (self.rehearsed[quantity] / MIB),
                    "%+.2f %%" % self.off(quantity)]
        if self.events_equal():
            return row + ["all %s" % format(self.real["events"], ",")]
        return row + ["%s of %s" % (format(self.events_same(), ","),
                                    format(self.real["events"], ","))]


class Counted(object):
    """Figures that a program wrote down itself, {"phase": [GiB, ...]}, rounded as it does."""

    def __init__(self, name, real, rehearsed, same_version):
        self.name, self.real, self.rehearsed = name, real, rehearsed
        self.same_version = same_version

    def pairs(self):
        """(phase, real, rehearsed)"""
        for phase in sorted(set(self.real) | set(self.rehearsed)):
            real, rehearsed = self.real.get(phase, []), self.rehearsed.get(phase, [])
            if len(real) != len(rehearsed):
                yield phase, 0, 1
            for ours, theirs in zip(real, rehearsed):
                yield phase, ours, theirs

    def worst(self):
        """Percent, with its sign."""
        return max(((theirs / ours - 1) * 100 if ours else 100 * bool(theirs)
                    for _, ours, theirs in self.pairs()), key=abs)

    def failures(self):
        limit = SAME_VERSION if self.same_version else OTHER_VERSION
        if abs(self.worst()) > limit:
            yield "a counter is %+.2f %% off, more than %g %%" % (self.worst(), limit)

    def cells(self):
        pairs = list(self.pairs())
        return [self.name, "%.3f" % max(ours for _, ours, _ in pairs),
                "%.3f" % max(theirs for _, _, theirs in pairs), "%+.3f %%" % self.worst(),
                "%d of %d" % (sum(ours == theirs for _, ours, theirs in pairs), len(pairs))]
