"""PyTorch's own counters beside a recording, at every phase, to the byte.

    stats.py run SAMPLE.py ARGUMENTS...     runs a sample, and leaves the counters in the recording
    stats.py compare DATABASE...            compares

What tests/samples_torch/observed.py and counters.py do for allocated, its maximum and reserved is
done by them; here comes max_memory_reserved. Before each mark the counters of torch.cuda.memory_stats
are held against the functions, too. Exit status of compare: 0 equal, 1 not, 77 if no recording has
counters, which is so on a CPU.
"""
import os
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "samples_torch"))

STATS = {
    "memory_allocated": "allocated_bytes.all.current",
    "max_memory_allocated": "allocated_bytes.all.peak",
    "memory_reserved": "reserved_bytes.all.current",
    "max_memory_reserved": "reserved_bytes.all.peak",
}


def checked(torch, observe):
    """observe(), with the functions held against memory_stats."""
    def observe_checked(step, phase):
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            stats = torch.cuda.memory_stats()
            for function, name in STATS.items():
                value = getattr(torch.cuda, function)()
                if stats.get(name, 0) != value:
                    raise SystemExit("torch.cuda.%s says %d, memory_stats %d" % (
                        function, value, stats.get(name, 0)))
        observe(step, phase)
    return observe_checked


def prepared():
    """The module observed, with the fourth counter."""
    import torch
    import observed
    observed.COUNTERS["cuda max reserved"] = "max_memory_reserved"
    observed.observe = checked(torch, observed.observe)
    return observed


def one_rank(options):
    """Work of ddp.py, in a process of its own."""
    observed = prepared()
    getattr(observed, "plain_one_rank", observed.one_rank)(options)


def run(arguments):
    observed = prepared()
    observed.plain_one_rank, observed.one_rank = observed.one_rank, one_rank
    sys.argv = [observed.__file__] + arguments
    return observed.main()


def reserved_points(db):
    """(process, phase, step, what torch says) of each mark with the maximum of reserved, until the
    program resets its peaks: ours are never reset."""
    where, found, over = {}, [], set()
    for process, name, value in db.execute("SELECT process, name, value FROM mark ORDER BY seq"):
        if name == "cuda peaks reset":
            over.add(process)
        elif name == "cuda max reserved" and process in where and process not in over:
            found.append((process,) + where[process] + (value,))
        elif not name.startswith("cuda "):
            where[process] = (name, value)
    return found


def compare_reserved(path):
    """(values compared, lines about those that differ)."""
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    count, lines = 0, []
    for process, phase, step, wanted in reserved_points(db):
        row = db.execute(
            "SELECT sum(pd.max_reserved) FROM phase ph JOIN phase_device pd ON pd.phase = ph.id "
            "JOIN device d ON d.id = pd.device WHERE ph.process = ? AND ph.name = ? "
            "AND ph.step = ? AND d.kind = 'cuda' GROUP BY ph.id ORDER BY ph.begin_seq DESC LIMIT 1",
            (process, phase, step)).fetchone()
        if row is None or row[0] is None:
            continue
        count += 1
        if row[0] != wanted:
            lines.append("process %d, step %d, %s: max reserved: recorded %d, torch says %d" % (
                process, step, phase, row[0], wanted))
    return count, lines


def compare(paths):
    import counters
    failed, total = False, 0
    for path in paths:
        found, lines = counters.compare(path)
        more, more_lines = compare_reserved(path)
        for line in lines + more_lines:
            print("    " + line)
        total += found + more
        print("%-24s %5d values  %s" % (
            os.path.basename(path), found + more,
            "DIFFERENT" if lines + more_lines else "equal" if found else "no counters"))
        failed |= bool(lines or more_lines)
    print("figures: %d values of %d recordings, %s" % (
        total, len(paths), "not all equal" if failed else "all equal" if total else "none on a GPU"))
    return 1 if failed else 0 if total else 77


def main():
    if sys.argv[1:2] == ["run"]:
        return run(sys.argv[2:])
    if sys.argv[1:2] == ["compare"] and sys.argv[2:]:
        return compare(sys.argv[2:])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
