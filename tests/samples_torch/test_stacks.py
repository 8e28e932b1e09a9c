"""Every block has a stack, whichever thread asks for it; threads of the autograd engine that of the
backward call which brought the work to them. See programs/stacks.py."""
import json
import os

import recording
from recording import expect, once

PROGRAM = os.path.join(recording.PROGRAMS, "stacks.py")
LONG = 150  # of the 256 innermost frames those of the helper are not shown

run = once(lambda: recording.record(PROGRAM))


def stack(site):
    """[function, line] of the frames of the program, and ["autograd", None]; and how many frames
    the whole stack has."""
    rows = run().rows(
        "SELECT fn.text, fi.text, f.line FROM site s JOIN frame f ON f.id = s.frame "
        "LEFT JOIN string fn ON fn.id = f.function LEFT JOIN string fi ON fi.id = f.file "
        "WHERE s.site = ? ORDER BY s.depth", site)
    for function, file, line in rows:
        expect((file is None, line is None), (function == "autograd",) * 2, function)
    return [[function, line] if file else function for function, file, line in rows
            if file in (None, PROGRAM)], len(rows)


def wanted():
    return {int(size): frames
            for size, frames in json.loads(run().out.splitlines()[-1]).items()}


def parts(frames):
    """Those of each thread."""
    found = [[]]
    for frame in frames:
        if frame == "autograd":
            found.append([])
        else:
            found[-1].append(frame)
    return found


def as_cut(frames, got):
    """`frames` with each thread's part as short as that of `got`, and without those that it has not
    at all."""
    pairs = zip(parts(frames), parts(got))
    cut = [frame for want, have in pairs for frame in want[:len(have)] + ["autograd"]]
    return cut[:-1]


def every_block_has_a_stack():
    # Its threads may be inside of their calls at once, if the machine has it so.
    run().is_whole(expected=("marks of several threads",))
    expect(run().rows("SELECT count(*) FROM allocation WHERE site IS NULL"), [(0,)])
    expect(run().rows("SELECT live, why_not FROM process WHERE live NOT LIKE '%stacks%' "
                      "OR why_not LIKE '%stacks%'"), [])


def stacks_are_those_of_the_program():
    """Of the deepest ones the innermost frames are kept."""
    frames, joined, cut = wanted(), 0, 0
    for size, want in frames.items():
        rows = run().rows("SELECT site FROM allocation WHERE size = ?", size)
        expect(len(rows), 1, "blocks of %d bytes" % size)
        got, depth = stack(rows[0][0])
        if depth >= LONG:
            want = as_cut(want, got[1:])
            cut += 1
        expect((got[0][0], got[1:]), ("block", want), size)
        joined += "autograd" in got
    expect((len(frames) > 250, joined > 60, cut > 60), (True,) * 3, (len(frames), joined, cut))
    expect(any(got.count("autograd") == 2 for got in frames.values()), True, "a thread of a thread")


def the_engine_by_itself():
    """The gradient of exp: 'autograd' is innermost, then comes the call."""
    sizes = [int(line.split()[1]) for line in run().out.splitlines() if line.startswith("native")]
    expect(len(sizes), 7)
    sites = {site for size in sizes
             for site, in run().rows("SELECT site FROM allocation WHERE size = ?", size)}
    stacks = [got for got, depth in map(stack, sites) if got[0] == "autograd"]
    expect(len(stacks) > 0, True, "none of them was of a thread of the engine")
    for got in stacks:
        expect({frame[0] for frame in got[1:6]}, {"Bottom.backward"}, got)
    short = dict(run().rows("SELECT site, text FROM site_short"))
    for site in sites:
        if stack(site)[0][0] == "autograd":
            expect(short[site].split(" (")[0], "Bottom.backward")
            expect(short[site].split(" > ")[1], "autograd")


def threads_without_python_have_their_name():
    named = run().rows("SELECT s.text, count(*) FROM allocation a JOIN site_text s "
                       "ON s.site = a.site WHERE s.text LIKE '[thread %]' GROUP BY 1")
    expect(sum(count for text, count in named) >= 4, True, named)


def who_calls_backward_works_itself():
    """Threads that call beside each other: their blocks have their own stacks alone."""
    rows = run().rows(
        "SELECT DISTINCT s.site FROM site s JOIN frame f ON f.id = s.frame JOIN string t "
        "ON t.id = f.function WHERE t.text = 'in_a_thread'")
    expect(len(rows) > 3, True, rows)
    for site, in rows:
        expect("autograd" in stack(site)[0], False, site)


def results_are_the_same():
    """Two threads take the last sizes, in any order."""
    alone, ours = recording.bare(PROGRAM).splitlines(), run().out.splitlines()
    expect(ours[:-1], alone[:-1])
    expect(sorted(map(json.dumps, wanted().values())),
           sorted(map(json.dumps, json.loads(alone[-1]).values())))


def without_stacks_nothing_is_said():
    if not recording.LONG:
        return  # test_modules.py has a program of its own without them
    run = recording.record(PROGRAM, options=["--no-stacks"])
    expect(run.rows("SELECT count(*) FROM allocation WHERE site IS NOT NULL"), [(0,)])


if __name__ == "__main__":
    recording.main(every_block_has_a_stack, stacks_are_those_of_the_program, the_engine_by_itself,
                   threads_without_python_have_their_name, who_calls_backward_works_itself,
                   results_are_the_same, without_stacks_nothing_is_said)
