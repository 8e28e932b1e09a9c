"""How much of the memory of forward and backward carries the module that module_truth.py counted."""
import collections
import json

KINDS = ("forward", "loss", "forward_no_grad", "recompute", "backward")
BLOCKS = """
SELECT a.seq, a.size, m.path, m.class, (SELECT t.text FROM site_short t WHERE t.site = a.site), v.step
  FROM allocation a
  LEFT JOIN module m ON m.id = a.module
  JOIN allocations v ON v.allocation = a.seq
  JOIN phase p ON p.id = v.phase_id
 WHERE p.kind IN (%s) AND v.process = 1 ORDER BY a.seq
""" % ", ".join("'%s'" % kind for kind in KINDS)
MARKS = "SELECT seq, name, value FROM mark WHERE name LIKE 'truth%' ORDER BY seq"


class Truths(object):
    """The module at each event, from the marks."""

    def __init__(self, marks):
        self.marks = marks
        self.at = 0

    def of(self, seq):
        """All that it may be; empty: nothing was marked yet."""
        while self.at < len(self.marks) and self.marks[self.at][0] < seq:
            self.at += 1
        after = self.marks[self.at] if self.at < len(self.marks) else None
        if after is not None and after[1] == "truth until here":
            return {after[2]}
        if not self.at:
            return set()
        name, value = self.marks[self.at - 1][1:]
        return {value, after[2]} if name == "truth after" and after is not None else {value}


def compare(recording):
    """Rows of (step, bytes, the path that it should be, the path and class that it is, site)."""
    paths = json.loads(recording.out.splitlines()[-1])["paths"]
    truths = Truths(recording.rows(MARKS))
    found = []
    for seq, size, path, name, site, step in recording.rows(BLOCKS):
        wanted = [paths[number] if number else None for number in truths.of(seq)]
        if wanted:
            want = path if path in wanted else wanted[0]
            found.append((step, size, want, path, name, site))
    return found


def wrong_bytes(rows):
    """(bytes in all, bytes that carry another module, the largest of these by what they carry)."""
    which = collections.Counter()
    for step, size, want, path, name, site in rows:
        if path != want:
            which[(want, path, name, site)] += size
    return sum(row[1] for row in rows), sum(which.values()), which.most_common(12)
