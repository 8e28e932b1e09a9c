"""The raw marks of training loops of every shape, and that the loops compute the same bits."""
import support

STEP = "Z F L B O"
SKIPPED = "Z F L B S"

WANTED = {
    "plain": [STEP] * 2,
    "seq2seq": ["Z F F F L F F L B O"] * 2,
    "gan": ["Z F F L F L B O", "Z F L B O"] * 2,
    "accumulation": ["F L B F L B O Z"] * 2,
    "evaluation": [STEP, "Ne N Fe Ne"],
    "checkpoint_reentrant": ["Z F L B(F) O"] * 2,
    "checkpoint_hooks": ["Z F L B(F) O"] * 2,
    "checkpoint_outside": ["Z N L B(F) O"],
    "scaler_disabled": ["Z F L B S(O)"] * 2,
    "scaler_skipping": ["Z F L B S(O)", SKIPPED],
    "exceptions": ["Z F!", "Z F!", "Z F L!", "Z F L B!", "Z F L B O!", STEP],
    "exception_inside": [STEP] * 2,
    "gradient_penalty": ["Z F L G B O"],
    "without_modules": ["Z B O"] * 2,
    "optimizers_of_other_kinds": [STEP] * 3,
    "schedulers": [STEP] * 2,
    "symbolic": [STEP] * 2,
    "counted": [STEP] * 2,
    "interrupted": ["F!"] + [STEP] * 2,
    "many_modules": [STEP] * 300,
    "step_inside_backward": ["Z F L B(O)"],
}


def recorded():
    if not hasattr(recorded, "run"):
        recorded.run = support.record("training.py")
        support.expect(recorded.run.status, 0, recorded.run.err)
        support.expect(recorded.run.lost, 0, "events were lost")
    return recorded.run


def marks_are_as_expected():
    for name, wanted in WANTED.items():
        events = recorded().between("case " + name)
        support.expect(support.sequence(events), " ".join(wanted), name)


def closures_are_inside_their_step():
    got = support.sequence(recorded().between("case lbfgs"))
    closure = "Z F L B"
    steps = got.split(") O(")
    support.expect(len(steps), 2, got)
    for step in steps:
        inside = step.replace("O(", "").replace(")", "")
        support.expect(inside.replace(closure, "").strip(), "", got)


def scripted_modules_are_seen():
    got = support.sequence(recorded().between("case scripted"))
    support.expect(got.replace("N", "F").split()[:5], STEP.split(), got)
    support.expect(got.endswith(STEP), True, got)


def results_are_bit_equal():
    alone = support.bare("training.py")
    support.expect(alone.status, 0, alone.err)
    support.expect(recorded().out, alone.out)
    support.expect(recorded().err, alone.err)
    support.expect(len(alone.out.split("\n")) > len(WANTED), True)


def threads_lose_no_step():
    """Of three threads at once nothing stays open, and each step is there, with the thread that made
    it; what it nests in is of the same thread."""
    events = recorded().between("case threads")
    enters, exits = ([e for e in events if e["kind"] == kind] for kind in ("enter", "exit"))
    support.expect(len(enters), len(exits))
    steps = [e["thread"] for e in enters if e["size"] == 4]
    support.expect(sorted(steps.count(thread) for thread in set(steps)), [20] * 3)
    for thread in set(steps):
        own = [e for e in enters + exits if e["thread"] == thread]
        own.sort(key=events.index)
        support.expect(support.sequence(own), " ".join([STEP] * 20), thread)


def lists_are_used_again():
    """A program that makes modules for ever does not make lists for ever."""
    lists = {e["b"] >> 32 for e in recorded().between("case many_modules") if e["kind"] == "tag"}
    support.expect(len(lists) < 20, True, lists)


def identities_and_names_hold():
    events = recorded().between("case gan")
    names = [e["name"] for e in events if e["kind"] == "enter" and e["size"] == 4]
    support.expect(names, ["Adam"] * 4)
    owners = [e["a"] for e in events if e["kind"] == "enter" and e["size"] == 4]
    support.expect(len(set(owners)), 2)
    support.expect(owners[:2], owners[2:])


def one_element_results_are_told():
    for event in recorded().between("case plain"):
        if event["kind"] == "exit" and event["size"] == 1:
            seen = event["b"] & 32
            break
    support.expect(seen, 0, "the network's result has 15 elements")
    exits = [e["b"] & 32 for e in recorded().between("case plain")
             if e["kind"] == "exit" and e["size"] == 1]
    support.expect(exits, [0, 32] * 2)


def phases_can_be_turned_off():
    run = support.record("training.py" if support.LONG else "tiny.py", env={"TIDEMARK_PHASES": "off"})
    support.expect(run.status, 0, run.err)
    for same in support.more(recorded):
        support.expect(run.out, same().out)
    support.expect(run.of("enter", "exit", "tag", "tags_hold"), [])
    said = set(note for note in run.notes(1) if not note.startswith("cupti"))
    support.expect(said, {"phases: turned off"})


if __name__ == "__main__":
    support.main(marks_are_as_expected, closures_are_inside_their_step, scripted_modules_are_seen,
                 results_are_bit_equal, threads_lose_no_step, lists_are_used_again,
                 identities_and_names_hold, one_element_results_are_told,
                 phases_can_be_turned_off)
