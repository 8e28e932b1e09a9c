"""Process trees: workers of a DataLoader, ranks, and the reducer's buckets in them."""
import json

import support

BUCKET, GRADIENT, PARAMETER = 6, 2, 1
LAYER = 4 * (256 * 256 + 256)  # bytes of one layer of programs/ddp.py
STEP = "Z F B O"


def per_process(run):
    return {p["process"]: [e for e in run.events if e["p"] == p["process"]]
            for p in run.processes}


def workers_of_a_loader():
    """However they are started, they compute the same, in the long form also the same as without us.
    Each that is spawned imports torch."""
    outs = [support.bare("loader.py", *method).out for method in support.more(["fork"])]
    for method, count in (("fork", 4), ("spawn kept", 2)) + support.more(("spawn", 4)):
        run = support.record("loader.py", *method.split())
        outs.append(run.out)
        support.expect((run.status, run.out), (0, outs[0]), run.err)
        by_process = per_process(run)
        root = min(by_process)
        support.expect(support.sequence([e for e in by_process[root]
                                         if e["kind"] in ("enter", "exit")]),
                       " ".join([STEP] * 4 + ["Ne"]), method)
        workers = [events for p, events in by_process.items()
                   if p != root and any(e["kind"] == "enter" for e in events)]
        support.expect(len(workers), count, "two workers in each of two epochs, or in both")
        for events in workers:
            marks = [e for e in events if e["kind"] in ("enter", "exit")]
            support.expect(support.sequence(marks), " ".join(["N"] * (16 // count)), method)
        for p, events in by_process.items():
            if any(e["kind"] == "enter" for e in events):
                support.expect({"phases", "torch-cpu"} <= run.notes(process=p), True, p)


def buckets_after(events, name, step):
    """The bucket tags that hold at a mark of the program."""
    places, held = {}, {}
    for event in events:
        if event["kind"] == "tag":
            places[event["b"]] = event
        elif event["kind"] == "tags_hold":
            held.update({b: tag for b, tag in places.items() if b >> 32 == event["a"]})
        elif event["kind"] == "mark" and event["name"] == name and event["a"] == step:
            break
    return [tag for tag in held.values() if tag["a"] == BUCKET and tag["size"]]


def living_at(events, name, step):
    living = {}
    for event in events:
        if event["kind"] == "block_alloc":
            living[event["addr"]] = event["size"]
        elif event["kind"] == "block_free":
            living.pop(event["addr"], None)
        elif event["kind"] == "mark" and event["name"] == name and event["a"] == step:
            break
    return living


def ranks(views):
    run = support.record("ddp.py", "views" if views else "own")
    support.expect(run.status, 0, run.err)
    found = [events for events in per_process(run).values()
             if any(e["name"] == "wrapped" for e in events)]
    support.expect(len(found), 2, "two ranks")
    return run, found


def check_buckets(events):
    """One bucket for all gradients first; from the second forward on three of about 1 MiB. All of
    them live, and their sizes are those of the blocks."""
    marks = [e for e in events if e["kind"] in ("enter", "exit")]
    support.expect(support.sequence(marks), " ".join([STEP] * 3))
    for step, count in ((0, 1), (1, 3), (2, 3)):
        buckets = buckets_after(events, "after step", step)
        support.expect(len(buckets), count, step)
        support.expect(sum(tag["size"] for tag in buckets), 10 * LAYER, step)
        living = living_at(events, "before step", step)
        for tag in buckets:
            support.expect(living.get(tag["addr"]), tag["size"], step)


def buckets_beside_gradients():
    run, found = ranks(False)
    for events in found:
        check_buckets(events)


def buckets_that_are_the_gradients():
    run, found = ranks(True)
    said = json.loads(run.out)
    for events in found:
        check_buckets(events)
    matches = [
        all(sorted(tag["addr"] for tag in buckets_after(events, "after step", step)) ==
            said[str(step)] for step in (1, 2)) for events in found]
    support.expect(any(matches), True, "the storages that rank 0 printed")


if __name__ == "__main__":
    support.main(workers_of_a_loader, buckets_that_are_the_gradients,
                 *support.more(buckets_beside_gradients))
