"""Calls of modules inside of modules: they go past us, as deep as without us, and whatever happens in
them, the outermost call is the one that is marked."""
import support


def recorded():
    if not hasattr(recorded, "run"):
        recorded.run = support.record("deep.py")
        support.expect(recorded.run.status, 0, recorded.run.err)
        support.expect(recorded.run.lost, 0, "events were lost")
    return recorded.run


def depth_of(text):
    word, number = text.split("\n")[0].split()
    support.expect(word, "deepest")
    return int(number)


def models_nest_as_deeply_as_alone():
    alone = support.bare("deep.py")
    support.expect((alone.status, alone.err), (0, recorded().err))
    wanted, got = depth_of(alone.out), depth_of(recorded().out)
    support.expect(wanted > 100, True, alone.out)
    support.expect(abs(wanted - got) <= 1, True, (wanted, got))
    support.expect(recorded().out.split("\n")[1:], alone.out.split("\n")[1:])


def inner_calls_have_no_frame_of_ours():
    support.expect(recorded().marks()["frames of the helper"], 1, "that of the outermost call")


def outermost_calls_are_marked():
    for name, wanted in (("exceptions", "F F! F"), ("hooks", "F B(N)"), ("direct", "F F F F"),
                         ("generators", "F F F")):
        support.expect(support.sequence(recorded().between("case " + name, "end")), wanted, name)


def threads_have_a_call_each():
    events = recorded().between("case two_threads")
    threads = {e["thread"] for e in events if e["kind"] == "enter"}
    support.expect(len(threads), 2)
    for thread in threads:
        own = [e for e in events if e["thread"] == thread]
        support.expect(support.sequence(own), " ".join("F" * 10), thread)


def the_limit_leaves_nothing_behind():
    seen = [name for name in recorded().marks() if name.startswith("after ")]
    support.expect(len(seen) > 20, True)
    for name in seen:
        support.expect(support.sequence(recorded().between(name)), "F", name)


if __name__ == "__main__":
    support.main(models_nest_as_deeply_as_alone, inner_calls_have_no_frame_of_ours,
                 outermost_calls_are_marked, threads_have_a_call_each,
                 the_limit_leaves_nothing_behind)
