"""Readers of what `tidemark export` writes, made from the formats' descriptions and nothing of ours:
each returns sums that can be compared with a recording's."""
import csv
import gzip
import io
import json
import pickle
from collections import Counter


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a message of protocol buffers."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        assert key >> 3, "field 0"
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        else:
            assert kind == 2, f"wire type {kind}"
            count, at = varint(data, at)
            value, at = data[at:at + count], at + count
            assert len(value) == count, "cut off"
        yield key >> 3, value


def last(data):
    return dict(fields(data))


class Pprof:
    """sums by sample type; stacks of what lives: names, innermost first, to bytes."""

    def __init__(self, data):
        strings, samples, locations, functions, types = [], [], {}, {}, []
        self.default = None
        for number, value in fields(gzip.decompress(data)):
            if number == 6:
                strings.append(value.decode("utf-8"))
            elif number == 1:
                types.append(last(value))
            elif number == 2:
                samples.append(value)
            elif number == 4:
                location = last(value)
                locations[location[1]] = last(location[4])[1]
            elif number == 5:
                function = last(value)
                functions[function[1]] = function[2]
            elif number == 14:
                self.default = value
        assert strings[0] == ""
        self.default = strings[self.default]
        names = [(strings[kind[1]], strings[kind[2]]) for kind in types]
        self.sums, self.stacks, self.categories = Counter(), Counter(), Counter()
        for sample in samples:
            self.take(sample, names, strings, locations, functions)
        self.types = names

    def take(self, sample, names, strings, locations, functions):
        values, stack, labels = [], [], {}
        for number, value in fields(sample):
            if number == 2:
                values.append(value)
            elif number == 1:
                stack.append(strings[functions[locations[value]]])
            elif number == 3:
                label = last(value)
                assert strings[label[1]] not in labels, "a label twice"
                labels[strings[label[1]]] = strings[label[2]] if 2 in label else label.get(3, 0)
        assert stack and len(values) == len(names)
        for (name, _), value in zip(names, values):
            self.sums[name, labels["process"], labels["device"]] += value
        if values[1]:
            self.stacks[tuple(stack)] += values[1]
            self.categories[labels["process"], labels["device"], labels["category"]] += values[1]


class Perfetto:
    """Highest value of each counter, slices by track, heap profiles, weights of blocks."""

    def __init__(self, data):
        self.tracks, self.counters, self.slices = {}, {}, Counter()
        self.heaps, self.weights, self.refusals = {}, Counter(), 0
        self.frames, self.stacks, self.texts, self.names = {}, {}, {}, []
        first = True
        for number, value in fields(data):
            assert number == 1, "a trace has packets only"
            packet = list(fields(value))
            flags = dict(packet)[13]
            assert flags == (1 if first else 2) and dict(packet)[10] == 1
            first = False
            for inner in (part for name, part in packet if name == 12):
                self.intern(inner)
            for name, part in packet:
                if name == 60:
                    self.track(part)
                elif name == 11:
                    self.event(part)
                elif name == 37:
                    self.profile(part)

    def intern(self, data):
        for number, value in fields(data):
            part = last(value)
            if number == 5:
                self.texts[part[1]] = part[2].decode("utf-8")
            elif number == 6:
                assert part[2] in self.texts
                self.frames[part[1]] = part[2]
            elif number == 7:
                frames = [v for n, v in fields(value) if n == 2]
                assert all(frame in self.frames for frame in frames) and frames
                self.stacks[part[1]] = frames

    def track(self, data):
        part = last(data)
        assert part[1] not in self.tracks, "a track twice"
        assert 5 not in part or part[5] in self.tracks, "a parent that is not there"
        self.tracks[part[1]] = part.get(2, b"").decode("utf-8"), part.get(5, 0) >> 40

    def event(self, data):
        event = last(data)
        name, process = self.tracks[event[11]]
        if event[9] == 4:
            at = process, name
            self.counters[at] = max(self.counters.get(at, event[30]), event[30])
        elif event[9] == 1:
            self.slices[process, name, 1] += 1
            self.names.append(event[23].decode("utf-8"))
        elif event[9] == 2:
            self.slices[process, name, 2] += 1
        elif 57 in event:
            import struct
            assert event[56] in self.stacks
            self.weights[process, name] += struct.unpack("<d", event[57])[0]
        else:
            self.refusals += 1

    def profile(self, data):
        for number, value in fields(data):
            if number != 5:
                continue
            heap, size, blocks = None, 0, 0
            for name, part in fields(value):
                if name == 11:
                    heap = part.decode("utf-8")
                elif name == 2:
                    sample = last(part)
                    assert sample[1] in self.stacks
                    size, blocks = size + sample[2], blocks + sample[5]
            self.heaps.setdefault(heap, []).append((size, blocks))


class Refuser(pickle.Unpickler):
    def find_class(self, module, name):
        raise AssertionError(f"a snapshot imports {module}.{name}")


class Snapshot:
    """Of each device: the highest sum of what is active, the events, the segments' tiling."""

    def __init__(self, data):
        self.all = Refuser(io.BytesIO(data)).load()
        self.peaks, self.blocks = {}, {}
        for device, trace in enumerate(self.all["device_traces"]):
            if trace:
                self.peaks[device], self.blocks[device] = self.walk(device, trace)
        for segment in self.all["segments"]:
            at = segment["address"]
            for block in segment["blocks"]:
                assert block["address"] == at and block["size"] > 0
                at += block["size"]
            assert at == segment["address"] + segment["total_size"], "blocks do not tile"

    def walk(self, device, trace):
        live, deltas, before, count = {}, [], 0, 0
        assert any(event.get("category") == "unknown" for event in trace)
        for event in trace:
            if event["action"] == "alloc":
                live[event["addr"]] = event["size"]
                deltas.append(event["size"])
                count += 1
            elif event["action"] == "free_completed":
                if event["addr"] not in live:
                    before, count = before + event["size"], count + 1
                live.pop(event["addr"], None)
                deltas.append(-event["size"])
        for segment in self.all["segments"]:
            for block in segment["blocks"]:
                if (segment["device"] == device and block["state"] == "active_allocated"
                        and block["address"] not in live):
                    before, count = before + block["requested_size"], count + 1
        highest = now = before
        for delta in deltas:
            now += delta
            highest = max(highest, now)
        return highest, count


def collapsed(data):
    stacks = Counter()
    for line in data.decode("utf-8").split("\n")[:-1]:
        assert not line.startswith("#") and line.isprintable(), ascii(line)
        stack, _, size = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] += int(size)
    return stacks


def speedscope(data):
    """A list of (name, stacks) and the frames' names."""
    whole = json.loads(data)
    frames = [frame["name"] for frame in whole["shared"]["frames"]]
    profiles = []
    for profile in whole["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] == "bytes"
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"]
        stacks = Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            stacks[tuple(frames[at] for at in sample)] += weight
        profiles.append((profile["name"], stacks))
    return profiles, frames


def chrome(data):
    """Highest value of each (pid, counter), and the slices' names."""
    highest, names, refusals = {}, [], 0
    for event in json.loads(data)["traceEvents"]:
        if event["ph"] == "C":
            at = event["pid"], event["name"]
            highest[at] = max(highest.get(at, 0), event["args"]["bytes"])
        elif event["ph"] == "X":
            assert event["dur"] >= 0
            names.append(event["name"])
        elif event["ph"] == "i":
            refusals += 1
    return highest, names, refusals


csv.field_size_limit(1 << 24)


def rows(data):
    text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
    return [row for row in csv.DictReader(text) if not row["process"].startswith("#")]
