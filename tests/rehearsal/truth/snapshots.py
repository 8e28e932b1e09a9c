"""What a memory snapshot of PyTorch's says, as facts that two runs can be compared by.

A snapshot is read twice: its history here, without executing anything in it, and its peaks by
`tidemark import`, so that a real run and a rehearsed one are measured by the same rule.

    figures   highest point of the allocated bytes and what was requested then, highest point of the
              reserved bytes; all of the time that the history covers
    events    the history's allocations and completed frees with their sizes, in order, as a count and
              a digest after each EVERY of them: short enough for the tree, and two histories that
              differ are told apart to EVERY events
"""
import hashlib
import json
import os
import pickle
import subprocess
import tempfile

EVERY = 500
DIGEST = 8  # characters; a digest of equal histories says nothing more than that they are equal
LETTERS = {"alloc": "a", "free_completed": "f"}


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("a snapshot has no %s.%s" % (module, name))


def events_of(path):
    """[(letter, size)] of the one device that has a history."""
    with open(path, "rb") as file:
        traces = [trace for trace in _Reader(file).load()["device_traces"] if trace]
    if len(traces) != 1:
        raise ValueError("%s: %d devices have a history, not one" % (path, len(traces)))
    return [(LETTERS[event["action"]], event["size"]) for event in traces[0]
            if event["action"] in LETTERS]


def in_any_order(events):
    """The frees between two allocations, sorted.

    At the end of a region of autocast PyTorch drops its copies of the weights in the order of a hash
    table whose keys are addresses on the host: it differs from run to run, on a GPU too."""
    result, frees = [], []
    for event in events:
        if event[0] == "f":
            frees.append(event)
            continue
        result += sorted(frees) + [event]
        frees = []
    return result + sorted(frees)


def digests_of(events, every=EVERY):
    """One behind each `every` events, and one behind the last."""
    digests, digest = [], hashlib.sha256()
    for index, (letter, size) in enumerate(events, 1):
        digest.update(b"%s %d\n" % (letter.encode(), size))
        if index % every == 0 or index == len(events):
            digests.append(digest.hexdigest()[:DIGEST])
    return digests


def same_until(ours, theirs, every=EVERY):
    """How many events are known to be the same in both lists of digests; the last stands for fewer
    than `every`, so lists of histories of different lengths agree in whole strides only."""
    same = 0
    for mine, other in zip(ours, theirs):
        if mine != other:
            break
        same += every
    return same


def _tables(tidemark, command, database):
    done = subprocess.run([tidemark, command, "-f", "json", database], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["tables"]


def figures_of(tidemark, path):
    """{"requested", "allocated", "reserved"}: bytes."""
    with tempfile.TemporaryDirectory(prefix="tidemark-truth-") as folder:
        database = os.path.join(folder, "imported.db")
        subprocess.run([tidemark, "import", path, "-o", database], check=True, capture_output=True)
        phases = _tables(tidemark, "phases", database)["phases"]
        ladder = _tables(tidemark, "ladder", database)["ladder"]
    requested = [row["bytes"] for row in ladder if row["quantity"] == "requested"]
    return {"requested": requested[0],
            "allocated": max(row["max_allocated"] for row in phases),
            "reserved": max(row["max_reserved"] for row in phases)}


def facts_of(tidemark, path, any_order=False):
    events = events_of(path)
    facts = figures_of(tidemark, path)
    facts["events"] = len(events)
    facts["digests"] = " ".join(digests_of(in_any_order(events) if any_order else events))
    return facts
