"""Every tensor event arrives, and torch.profiler works beside us."""
import json

import support


def recorded():
    if not hasattr(recorded, "run"):
        recorded.run = support.record("events.py")
        support.expect(recorded.run.status, 0, recorded.run.err)
        support.expect(recorded.run.lost, 0, "events were lost")
        give_sizes(recorded.run.of("block_alloc", "block_free"))
    return recorded.run


def give_sizes(events):
    """No address is handed out twice, and what is freed was handed out. A block of the CPU may go
    without a size: that of its beginning is filled in. `left` is what lives at the end."""
    recorded.left = {}
    for event in events:
        if event["kind"] == "block_alloc":
            support.expect(event["addr"] in recorded.left, False, event)
            recorded.left[event["addr"]] = event["size"]
        else:
            size = recorded.left.pop(event["addr"], None)
            support.expect(size is not None and event["size"] in (0, size), True, event)
            event["size"] = size


def blocks(events):
    """[[address, signed bytes]]"""
    signs = {"block_alloc": 1, "block_free": -1}
    return [[e["addr"], e["size"] * signs[e["kind"]]] for e in events if e["kind"] in signs]


def the_profiler_sees_the_same():
    theirs = json.loads(recorded().out)
    ours = [size for address, size in blocks(recorded().between("profiled", "profiled end"))]
    support.expect(len(ours) > 100, True, ours)
    support.expect(theirs[:len(ours)], ours)
    support.expect(len(theirs) - len(ours) < 20, True, "events before and after the marks")


def the_profiler_sees_as_much_as_without_us():
    alone = support.bare("events.py")
    support.expect(alone.status, 0, alone.err)
    support.expect(recorded().out, alone.out)


def it_is_so_without_the_helper():
    """The originals are found by the library itself."""
    run = support.record("events.py", env={"PYTHONPATH": None, "TIDEMARK_PYTHON": "/nowhere"})
    support.expect(run.status, 0, run.err)
    support.expect(run.out, recorded().out)
    support.expect(len(blocks(run.events)) > 1000, True)
    support.expect(run.of("enter"), [])


def it_is_so_where_nobody_records():
    if not support.LONG:
        return  # test_delivery.py has a program without the profiler
    env = {"LD_PRELOAD": support.os.environ["TIDEMARK_GUEST"], "PYTHONPATH": support.HELPER}
    run = support.bare("events.py", env=env)
    support.expect(run.status, 0, run.err)
    support.expect(run.out, recorded().out)


def blocks_begin_and_end_once():
    recorded()
    support.expect(sum(recorded.left.values()) < 100000, True, "what is left at the end")


def sizes_are_those_of_the_program():
    run = recorded()
    marks = run.marks()
    events = blocks(run.between("known", "known end"))
    support.expect([size for address, size in events][:2], [12345, 84])
    support.expect(sorted(size for address, size in events[2:]), [-12345, -8000, -84, 4000])
    support.expect([marks["known"], -8000] in events, True, events)
    support.expect([marks["known end"], 4000] in events, True, events)


def threads_are_told_apart():
    events = recorded().between("threads", "threads end")
    threads = {event["thread"] for event in events if event["kind"] == "block_alloc"}
    support.expect(len(threads) >= 4, True, threads)


def out_of_memory_is_an_event():
    ooms = recorded().of("oom")
    support.expect([(e["size"], e["device"], e["flags"]) for e in ooms], [(1 << 61, "cpu", 0)])
    support.expect("refused" in recorded().marks(), True)


def the_heap_is_the_cpu():
    for event in recorded().of("block_alloc", "block_free"):
        support.expect((event["device"], event["index"], event["stream"], event["flags"],
                        event["a"], event["b"]), ("cpu", 0, 0, 0, 0, 0))
    support.expect("torch-cpu" in recorded().notes(), True)


if __name__ == "__main__":
    support.main(the_profiler_sees_the_same, the_profiler_sees_as_much_as_without_us,
                 it_is_so_without_the_helper, it_is_so_where_nobody_records,
                 blocks_begin_and_end_once, sizes_are_those_of_the_program, threads_are_told_apart,
                 out_of_memory_is_an_event, the_heap_is_the_cpu)
