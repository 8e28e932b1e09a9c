"""Programs that train in several threads: what one of them does makes the phases and steps of the
process, and what the other does are phases of its own; nothing is silently wrong. See
programs/trainers.py."""
import os

import recording
from recording import SHARED, expect, once

os.environ["TIDEMARK_TEST_PROGRAMS"] = SHARED
PROGRAM = os.path.join(recording.PROGRAMS, "trainers.py")
STEP, STEPS = "zero_grad forward loss backward optimizer", 4

run = once(lambda: recording.record(PROGRAM))


def case(name):
    return run().cases()[name]


def it_is_said():
    run().is_whole(["marks of several threads"])
    rows = run().rows("SELECT detail FROM anomaly WHERE process = 1")
    expect(len(rows), 1, rows)
    expect("phases of the process and steps are those of" in rows[0][0], True, rows)
    shown = run().report("info")
    expect("marks of several threads" in str(shown), True, shown)


def one_makes_the_timeline():
    """The two had the first instants in common: the steps after these are one thread's alone. What
    the other does between its own phases may come behind a backward of this one."""
    steps = [step.replace(" after backward", "") for step in run().steps(*case("beside"))]
    expect(len(steps) >= STEPS - 1, True, steps)
    expect(steps[1:STEPS - 1], [STEP] * (STEPS - 2), steps)


def the_other_has_phases_of_its_own():
    first, last = case("beside")
    rows = run().rows(
        "SELECT name, step, ended, thread FROM phase WHERE scope = 'thread' AND begin_seq > ? "
        "AND end_seq < ? ORDER BY begin_seq", first, last)
    expect({row[1:3] for row in rows}, {(None, "end")}, rows)
    expect(len({row[3] for row in rows}), 1, rows)
    names = [row[0] for row in rows]
    once = ["zero_grad", "forward", "backward", "optimizer"]
    expect(names[-2 * len(once):], once * 2, names)


def blocks_are_where_they_were_born():
    """By their widths. What a thread asks for between its own phases is in one of the process."""
    first, last = case("beside")
    for kind, sizes in (("forward", (4 * 4 * 32, 4 * 4 * 48)),
                        ("optimizer", (4 * 32 * 32, 4 * 48 * 48))):
        rows = run().rows(
            "SELECT a.size, count(*) FROM allocations a JOIN phase ph ON ph.id = a.phase_id "
            "WHERE ph.scope = 'thread' AND ph.kind = ? AND a.allocation BETWEEN ? AND ? "
            "AND a.size IN (?, ?) GROUP BY 1", kind, first, last, *sizes)
        expect(len(rows), 1, (kind, rows))
        expect(rows[0][1] >= STEPS - 1, True, (kind, rows))


def one_after_the_other_is_one_timeline():
    expect(run().steps(*case("after")), [STEP] * (2 * STEPS))
    expect(run().rows("SELECT count(*) FROM phase WHERE scope = 'thread' AND begin_seq > ?",
                      case("after")[0]), [(0,)])


def results_are_bit_equal():
    expect(run().out, recording.bare(PROGRAM))


if __name__ == "__main__":
    recording.main(it_is_said, one_makes_the_timeline, the_other_has_phases_of_its_own,
                   blocks_are_where_they_were_born, one_after_the_other_is_one_timeline,
                   results_are_bit_equal)
