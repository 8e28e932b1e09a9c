"""Copies of a model that nobody calls are no parameters; a frozen part of the one that runs is."""
import os

import recording
from recording import expect, once

PROGRAM = os.path.join(recording.PROGRAMS, "copies.py")
PARAMETERS = {4 * 64 * 128: 1, 4 * 128: 3, 4 * 128 * 10: 1, 4 * 10: 1}
COPY = "copy of parameters (EMA or frozen)"
COPY_RULE = "as large as a parameter, made after it and before the first step, live to the end"
OTHER_RULE = "live before the first step and to the end, but not tagged as a parameter"
DATA, TARGETS = 4 * 3 * 1000, 8

run = once(lambda: recording.record(PROGRAM))


@once
def alone():
    os.environ["COPIES_NONE"] = "1"
    try:
        return recording.record(PROGRAM)
    finally:
        del os.environ["COPIES_NONE"]


def at_peak(run, category, rule):
    return dict(run.rows("SELECT size, count(*) FROM live_at_peak WHERE category = ? AND rule = ?"
                         " GROUP BY size", category, rule))


def parameters_are_counted_once():
    for each in (run(), alone()):
        expect(dict(each.rows("SELECT size, count(*) FROM live_at_peak WHERE category = 'parameter'"
                              " GROUP BY size")), PARAMETERS)
        expect(at_peak(each, "parameter", "tag"), PARAMETERS, "the frozen ones too")


def copies_are_named():
    want = {size: 2 * count for size, count in PARAMETERS.items()}
    found = at_peak(run(), COPY, COPY_RULE)
    for size in (4 * 64 * 128, 4 * 128 * 10):
        expect(found.get(size), want[size], found)
    expect(sorted(found), sorted(want), found)


def what_has_their_size_by_chance_is_other():
    expect(at_peak(alone(), COPY, COPY_RULE), {})
    others = at_peak(alone(), "other", OTHER_RULE)
    expect((others.get(DATA), others.get(4 * 10, 0) >= TARGETS - 3), (1, True), others)


def a_report_has_them():
    rows = {row["category"]: row for row in run().report("peak")["by_category"]}
    expect(rows["parameter"]["bytes"], sum(size * n for size, n in PARAMETERS.items()), rows)
    expect(rows[COPY]["rule"], COPY_RULE)


if __name__ == "__main__":
    recording.main(parameters_are_counted_once, copies_are_named,
                   what_has_their_size_by_chance_is_other, a_report_has_them)
