"""Who holds what steps leave behind: by the program's own names, or not known."""
import os

import recording
from recording import expect, once

PROGRAM = os.path.join(recording.PROGRAMS, "leaks.py")
EACH = 4 * 100 * 64


def leaks_of(kind, **options):
    run = recording.record(PROGRAM, kind, **options)
    rows = run.report("leaks")["leaks"]
    return [row for row in rows if row["bytes_per_step"] >= EACH // 2]


def holders(rows):
    return {(row["holder_kind"], row["holder"]) for row in rows}


collections = once(lambda: leaks_of("collections"))


def each_collection_is_named():
    expect(holders(collections()), {("list", "seen"), ("dict", "features"), ("lru_cache", "mask"),
                                    ("list", "probe.activations"), ("list", "history")})


def line_with(text):
    """leaks.py:LINE of a line of the program."""
    with open(PROGRAM) as source:
        for number, line in enumerate(source, 1):
            if line.strip().startswith(text):
                return "leaks.py:%d" % number


def each_has_the_line_that_adds_to_it():
    expect({row["holder"]: row["holder_line"] for row in collections()},
           {"seen": line_with("seen.append("), "features": line_with("features[step] = "),
            "mask": line_with("def mask("), "probe.activations": line_with("self.activations.append"),
            "history": line_with("history.append(")})


def inputs_have_advice_of_their_own():
    (row,) = [row for row in collections() if row["holder"] == "seen"]
    expect((row["category"], "batch.cpu()" in row["advice"]), ("input", False), row)
    (row,) = [row for row in collections() if row["holder"] == "mask"]
    expect("mask.cache_clear()" in row["advice"], True, row)
    (row,) = [row for row in collections() if row["holder"] == "features"]
    expect("features.pop(" in row["advice"], True, row)
    (row,) = [row for row in collections() if row["holder"] == "history"]
    expect("graphs" in row["advice"], True, row)


def a_sum_of_losses_holds_their_graphs():
    rows = leaks_of("summed")
    expect(len(rows) >= 2, True, rows)
    expect(holders(rows), {("graph", "total")}, rows)
    expect("total += value.item()" in rows[0]["advice"], True, rows)
    expect(rows[0]["holder_line"], line_with("total += "), rows)


def a_state_that_is_never_detached():
    rows = leaks_of("state")
    expect(holders(rows), {("graph", "hidden")}, rows)
    expect("hidden = hidden.detach()" in rows[0]["advice"], True, rows)
    expect(rows[0]["holder_line"], line_with("hidden = cell("), rows)


def what_a_function_held_that_returned_is_not_known():
    rows = leaks_of("local")
    expect(holders(rows), {("unknown", None)}, rows)


def locals_of_an_exception_are_seen():
    rows = leaks_of("failed", status=1)
    expect(holders(rows), {("list", "kept")}, rows)
    expect(rows[0]["holder_line"], line_with("kept.append("), rows)


if __name__ == "__main__":
    recording.main(each_collection_is_named, each_has_the_line_that_adds_to_it,
                   inputs_have_advice_of_their_own,
                   a_sum_of_losses_holds_their_graphs, a_state_that_is_never_detached,
                   what_a_function_held_that_returned_is_not_known,
                   locals_of_an_exception_are_seen)
