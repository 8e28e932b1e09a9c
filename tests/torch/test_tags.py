"""Tags by address: what the recorder must conclude from the lists, against what the program says.

`Lists` does what a recorder does: it keeps what each place of each list was set to, and takes over
a whole list when it is told that the list holds."""
import json

import support

PARAMETER, GRADIENT, STATE, INPUT, OTHER = 1, 2, 3, 5, 8


class Lists(object):
    def __init__(self, events):
        self.places = {}
        self.held = {}  # (address, bytes) -> {(category, name)}
        self.sets = self.holds = 0
        for event in events:
            if event["kind"] == "tag" and event["b"]:
                self.sets += 1
                where = (event["b"] >> 32, event["b"] & 0xffffffff)
                support.expect(event["device"] in ("cpu", ""), True, event)
                self.places[where] = event
            elif event["kind"] == "tags_hold":
                self.holds += 1
                self.hold(event["a"])

    def hold(self, number):
        for (owner, place), event in self.places.items():
            if owner == number and event["size"]:
                key = (event["addr"], event["size"])
                self.held.setdefault(key, set()).add((event["a"], event["name"]))

    def of(self, place):
        return self.held.get(tuple(place), set())


def recorded():
    if not hasattr(recorded, "run"):
        recorded.run = support.record("tags.py")
        support.expect(recorded.run.status, 0, recorded.run.err)
        support.expect(recorded.run.lost, 0)
        recorded.said = json.loads(recorded.run.out)
    return recorded.run


def case(name, end="end"):
    return recorded().between("case " + name, end)


def until(name):
    """All events from the beginning to the end of a case: lists live on."""
    events = recorded().events
    begin = next(i for i, e in enumerate(events) if e["name"] == "case " + name)
    end = next(i for i, e in enumerate(events) if i > begin and e["name"] == "end")
    return events[:end]


def each_kind_is_tagged():
    lists = Lists(case("adam"))
    said = recorded.said["adam"]
    support.expect((PARAMETER, "first.weight") in lists.of(said["weight"]), True, lists.held)
    support.expect((GRADIENT, "first.weight") in lists.of(said["grad"]), True)
    support.expect((OTHER, "norm.running_mean") in lists.of(said["mean"]), True)
    support.expect((INPUT, "input 0") in lists.of(said["x"]), True)
    support.expect((INPUT, "input 1") in lists.of(said["y"]), True)
    batch = recorded.said["evaluation"]["batch"]
    support.expect((INPUT, "input 0") in lists.of(batch), True)
    state = recorded.said["adam state"]["exp_avg"]
    support.expect((STATE, "exp_avg of first.weight") in lists.of(state), True)


def every_gradient_of_every_step_is_tagged():
    """Of those that live at the step: the steps' own events, block by block."""
    living, tagged, places, steps = {}, 0, {}, 0
    for event in recorded().events:
        if event["kind"] == "block_alloc":
            living[event["addr"]] = event
        elif event["kind"] == "block_free":
            living.pop(event["addr"], None)
        elif event["kind"] == "tag":
            places[event["b"]] = event
        elif event["kind"] == "tags_hold":
            for b, tag in places.items():
                if b >> 32 == event["a"] and tag["a"] == GRADIENT and tag["size"]:
                    block = living[tag["addr"]]
                    support.expect(block["size"], tag["size"])
                    tagged += "seen" not in block
                    block["seen"] = True
        elif event["name"] == "step" and event["kind"] == "mark":
            steps += 1
            support.expect(tagged, 6 * steps, "six parameters, new gradients in each step")


def what_stays_is_not_said_again():
    lists = Lists(case("steady"))
    support.expect(lists.sets, 0)
    support.expect(lists.holds, 3, "parameters, gradients, state")
    lists = Lists(until("steady"))
    names = {pair for pairs in lists.held.values() for pair in pairs}
    support.expect((STATE, "momentum_buffer of 0.weight") in names, True, names)


def places_become_empty():
    """Gradients that are None at a step, places of a list whose owner died: with the name that was
    there, if there was one."""
    names, named = {}, 0
    for event in recorded().of("tag"):
        if event["b"] and not event["size"]:
            support.expect((event["addr"], event["device"], event["name"]),
                           (0, "cpu", names[event["b"]]))
            named += event["a"] == GRADIENT and event["name"] != ""
        names[event["b"]] = event["name"]
    support.expect(named > 0, True)


def equal_names_are_told_apart():
    names = {name for pairs in Lists(case("two models")).held.values() for category, name in pairs
             if category == PARAMETER and name.endswith("weight")}
    support.expect(len(names), 2, names)


def sparse_gradients_are_their_values():
    lists = Lists(case("sparse"))
    pairs = lists.of(recorded.said["sparse"]["values"])
    support.expect((GRADIENT, "weight") in {(c, n.split(".")[-1]) for c, n in pairs}, True, pairs)


def memory_inside_of_a_wrapper_is_found():
    lists = Lists(case("wrapped"))
    said = recorded.said["wrapped"]
    for what, category in (("weight", PARAMETER), ("grad", GRADIENT), ("momentum", STATE)):
        categories = {c for c, name in lists.of(said[what])}
        support.expect(category in categories, True, (what, lists.of(said[what])))


def states_in_lists_are_found():
    lists = Lists(until("lbfgs"))
    said = recorded.said["lbfgs"]
    for what, key in (("d", "d"), ("old", "old_dirs")):
        names = {name.split(" of ")[0] for category, name in lists.of(said[what])
                 if category == STATE}
        support.expect(key in names, True, (what, lists.of(said[what])))
    categories = {category for category, name in lists.of(said["grad"])}
    support.expect(GRADIENT in categories, True)


def moved_parameters_are_followed():
    for i in range(2):
        lists = Lists(until("moved %d" % i))
        pairs = lists.of(recorded.said["moved %d" % i]["weight"])
        support.expect(PARAMETER in {category for category, name in pairs}, True, i)


def parameters_that_no_optimizer_has():
    lists = Lists(until("replaced"))
    for i in range(3):
        pairs = lists.of(recorded.said["replaced %d" % i]["weight"])
        support.expect(PARAMETER in {category for category, name in pairs}, True, i)


def lists_grow_and_shrink():
    """What a place of the optimizer's own lists holds at the end of each step, by category."""
    expected = [{PARAMETER: 2, GRADIENT: 2, STATE: 2}, {PARAMETER: 4, GRADIENT: 4, STATE: 4},
                {PARAMETER: 2, GRADIENT: 2, STATE: 2}]
    for i, counts in enumerate(expected):
        lists = Lists(until("resized %d" % i))
        held = {e["a"] for e in case("resized %d" % i) if e["kind"] == "tags_hold"}
        full = {}
        for (number, place), event in lists.places.items():
            if number in held and event["size"]:
                full[event["a"]] = full.get(event["a"], 0) + 1
        support.expect(full, counts, i)
        said = recorded.said["resized %d" % i]
        support.expect(STATE in {c for c, name in lists.of(said["momentum"])}, True, i)
        own = said["second"] if i else said["first"]
        support.expect(PARAMETER in {c for c, name in lists.of(own)}, True, i)


def calls_by_hand_arrive():
    events = case("by hand")
    address, size = recorded.said["by hand"]["tensor"]
    tags = [e for e in events if e["kind"] == "tag"]
    support.expect([(e["addr"], e["size"], e["a"], e["b"], e["name"]) for e in tags],
                   [(address, size, 4, 0, "scores")])
    phases = [(e["kind"], e["name"], e["flags"]) for e in events if e["kind"].startswith("phase")]
    support.expect(phases, [
        ("phase_begin", "outer", 0), ("phase_begin", "inner", 0), ("phase_end", "inner", 0),
        ("phase_begin", "fails", 0), ("phase_end", "fails", 8), ("phase_end", "outer", 0),
        ("phase_begin", "decorated", 0), ("phase_end", "decorated", 0)])
    support.expect([e["a"] for e in events if e["kind"] == "step_begin"], [41])
    support.expect(recorded().marks()["value"], 2**64 - 5)


def nothing_is_kept_alive():
    """As many blocks live at the end of each step as without tags."""
    alone = support.record("tags.py", env={"TIDEMARK_PHASES": "off"})
    for run in (alone, recorded()):
        run.left = sum({"block_alloc": 1, "block_free": -1}.get(e["kind"], 0)
                       for e in run.events[:run.events.index(
                           next(e for e in run.events if e["name"] == "case by hand"))])
    support.expect(recorded().left, alone.left)


if __name__ == "__main__":
    support.main(each_kind_is_tagged, every_gradient_of_every_step_is_tagged,
                 what_stays_is_not_said_again, places_become_empty, equal_names_are_told_apart,
                 sparse_gradients_are_their_values, memory_inside_of_a_wrapper_is_found,
                 states_in_lists_are_found,
                 moved_parameters_are_followed,
                 parameters_that_no_optimizer_has, lists_grow_and_shrink, calls_by_hand_arrive,
                 nothing_is_kept_alive)
