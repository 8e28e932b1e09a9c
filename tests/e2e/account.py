"""What a random program must have left in the database, computed from its own log alone.

prog_random.c says what the lines of a log are. read_logs() turns them into the processes' events;
Account puts the events of one process into the order in which the database has them (checking that
it keeps the order of every thread), and replays them: slowly and plainly, keeping every value after
every event, so that a phase is answered by looking at all that happened inside it.
"""
import os
from collections import defaultdict

DEVICES = {0: "cpu", 1: "cuda", 2: "virtual", 3: "other"}
LIVING_SEQ = -(2 ** 31)
LARGEST = 2 ** 63 - 1  # of all together
MOST = 2 ** 46  # of one
KINDS = ("zero_grad", "forward", "loss", "backward", "optimizer", "eval")


class Wrong(Exception):
    pass


def check(condition, text, *values):
    if not condition:
        raise Wrong(text % values if values else text)


def same(got, want, text, *values):
    if got != want:
        what = text % values if values else text
        raise Wrong("%s\n  want %r\n  got  %r" % (what, want, got))


def name_of(word):
    return None if word == "-" else bytes.fromhex(word[1:]).decode()


def site_text(function, file, line):
    """As a report shows it; None = not known."""
    if line < 0:
        return None
    text = "?" if function is None else function
    if file is None:
        return text
    return "%s (%s:%d)" % (text, file, line) if line else "%s (%s)" % (text, file)


class Event:
    """One call. `seq` comes from the database, `sure` is false where the log breaks off."""

    def __init__(self, tid, words, sure, times):
        self.tid, self.kind, self.words, self.sure, self.times = tid, words[0], words[1:], sure, times
        self.seq = None
        self.here = None      # the innermost phase of scope process, None = other
        self.step = None      # of what is between phases, at this event


class Heap:
    def __init__(self, words):
        kind, index = int(words[0]), int(words[1])
        self.stream, self.pool, self.name = int(words[2]), int(words[3]), name_of(words[4])
        self.device = DEVICES[kind]
        if kind != 0 and index >= 0:
            self.device += ":%d" % index
        self.key = (self.device, self.stream, self.pool, self.name)


class Thread:
    def __init__(self, path):
        self.events, self.heaps = [], {}
        text = open(path, "rb").read().rstrip(b"\0").decode()
        lines = text.split("\n")
        for i, line in enumerate(lines):
            words, sure = line.split(" "), i + 1 < len(lines)
            if words[0] == "I":
                self.tid = int(words[1])
            elif words[0] == "H":
                self.heaps[int(words[1])] = Heap(words[2:])
            elif words[0] and (sure or complete(words)):
                times = (int(words[-2]), int(words[-1])) if sure else None
                self.events.append(Event(self.tid, words[:-2] if sure else words, sure, times))


WORDS = {"A": 8, "F": 3, "S": 4, "s": 4, "B": 2, "E": 2, "T": 2, "t": 1, "M": 3, "G": 6, "O": 3}


def complete(words):
    """Whether the unfinished last line says all of the call that may have been made: the time before
    the call is the last that is written ahead of it."""
    return len(words) > WORDS[words[0]]


def read_logs(folder):
    """(pid, image) -> its threads, the first one first."""
    logs = defaultdict(list)
    for name in os.listdir(folder):
        pid, image, thread = (int(part) for part in name.split("."))
        logs[pid, image].append((thread, os.path.join(folder, name)))
    return {key: [Thread(path) for _, path in sorted(paths)] for key, paths in logs.items()}


class Block:
    def __init__(self, event, heap, address, size, requested, site):
        self.born, self.heap, self.address, self.size = event, heap, address, size
        self.requested, self.site, self.tag, self.segment = requested, site, None, None
        self.freed = self.phase = None


class Segment:
    def __init__(self, event, heap, address, size):
        self.born, self.heap, self.address, self.size = event, heap, address, size
        self.freed, self.blocks = None, set()

    def split(self):
        return max(0, self.size - sum(b.size for b in self.blocks)) if self.blocks else 0


class Phase:
    def __init__(self, event, name, parent, scope, step, ordinal):
        self.begin, self.name, self.parent, self.scope = event, name, parent, scope
        self.step, self.ordinal, self.end, self.ended, self.split = step, ordinal, None, None, {}


class Device:
    """Everything after every event; index 0 is before the first one."""

    def __init__(self):
        self.living, self.segments = {}, {}
        self.now = dict(allocated=0, requested=0, unknown=0, reserved=None, allocs=0, frees=0, bytes=0,
                        top=0, top_at=None, top_reserved=None)  # running maxima; when first reached
        self.after = [dict(self.now)]

    def step(self, event):
        now = self.now
        if now["allocated"] > now["top"]:
            now["top"], now["top_at"] = now["allocated"], event
        if now["reserved"] is not None:
            now["top_reserved"] = max(now["reserved"], now["top_reserved"] or 0)
        self.after.append(dict(now))

    def split(self):
        if self.now["reserved"] is None:
            return None
        return sum(segment.split() for segment in self.segments.values())


class Account:
    def __init__(self, threads, rows, start_ns):
        """`rows`: what the database has of this process, see check_recording.py."""
        self.threads, self.rows, self.start_ns = threads, rows, start_ns
        self.heaps = threads[0].heaps
        self.anomalies = defaultdict(int)
        self.number()
        self.replay()

    # ---- numbers: which row is which event ----

    def take(self, source, key, event):
        """The next row of that key. None where the log breaks off: the call was not made."""
        rows = source.get(key, [])
        if rows:
            return rows.pop(0)
        check(not event.sure, "the log has %s %s of thread %d, the database has not", event.kind,
              event.words, event.tid)
        return None

    def number_block(self, event, state, key):
        """Allocations and frees of one address, segments likewise: (device, address) is a chain."""
        source = self.rows.segments if event.kind in "Ss" else self.rows.blocks
        if event.kind in "AS":
            row = self.take(source, key, event)
            if row:
                event.seq = row["seq"]
                former, state[key] = state.get(key), (event, row)
                if former:
                    same(former[1]["free_seq"], event.seq, "the end of a block handed out twice")
        elif key in state:
            row = state[key][1]
            if row["free_seq"] is not None and row["free_seq"] >= 0:
                event.seq = row["free_seq"]
                del state[key]
            else:
                check(not event.sure, "the log has the end of %s, the database has not", key)

    def number_thread(self, thread):
        blocks, segments, open_phases = {}, {}, []
        for event in thread.events:
            kind, words = event.kind, event.words
            if kind in "AFSs":
                key = (self.heaps[int(words[0])].device, int(words[1]))
                self.number_block(event, segments if kind in "Ss" else blocks, key)
            elif kind in "MO":
                row = self.take(self.rows.marks if kind == "M" else self.rows.ooms, event.tid, event)
                event.seq = row and row["seq"]
            elif kind == "B":
                row = self.take(self.rows.phases, event.tid, event)
                event.seq = row and row["begin_seq"]
                if row:
                    open_phases.append(row)
            elif kind == "E":
                self.number_end(event, open_phases)
        for key, block in list(blocks.items()) + list(segments.items()):
            row = block[1]
            check(row["free_seq"] is None or row["free_seq"] < 0, "%s was freed by nobody", key)

    def number_end(self, event, open_phases):
        name = name_of(event.words[0])
        while open_phases:
            row = open_phases[-1]
            if name is not None and all(other["name"] != name for other in open_phases):
                return
            if not event.sure and row["ended"] == "process end":
                return
            event.seq = row["end_seq"] if event.seq is None else event.seq
            same(row["end_seq"], event.seq, "where phase %s ended", row["name"])
            open_phases.pop()
            if name in (None, row["name"]):
                return

    def number(self):
        for thread in self.threads:
            self.number_thread(thread)
            last = 0
            for event in thread.events:
                if event.seq is not None:
                    check(event.seq > last, "thread %d: %s %s has seq %d, the one before %d",
                          event.tid, event.kind, event.words, event.seq, last)
                    last = event.seq
        for what in ("blocks", "segments", "marks", "ooms", "phases"):
            for key, left in getattr(self.rows, what).items():
                check(not left, "%s of %s that no log has: %r", what, key, left)
        order = []
        for thread in self.threads:
            last = 0
            for place, event in enumerate(thread.events):
                last = event.seq if event.seq is not None else last
                order.append((last, place, event))
        order.sort(key=lambda item: item[:2])
        self.events = self.that_happened([event for _, _, event in order])

    def that_happened(self, order):
        """Unfinished calls without a row: the process's count of events tells whether they were
        made. At most one can be in doubt, for they are made alone."""
        doubt = [e for e in order if not e.sure and e.seq is None]
        made = self.rows.process["events"] - (len(order) - len(doubt))
        check(0 <= made <= len(doubt), "%d events stored, the log has %d and %d unfinished",
              self.rows.process["events"], len(order) - len(doubt), len(doubt))
        silent = [e for e in doubt if e.kind in "TtGFsE"]
        check(made <= len(silent), "an unfinished call left a number but no row")
        keep = set(silent if made else [])
        return [e for e in order if e.sure or e.seq is not None or e in keep]

    # ---- replay ----

    def replay(self):
        self.devices = defaultdict(Device)
        for heap in self.heaps.values():
            self.devices[heap.device]
        self.blocks, self.segments, self.phases = [], [], []
        self.stacks, self.owner, self.step, self.ordinals = defaultdict(list), None, None, {}
        for at, event in enumerate(self.events):
            event.at = at
            event.here = self.innermost()
            event.step = self.step
            getattr(self, "do_" + ("end_" if event.kind.islower() else "") + event.kind)(event)
            for device in self.devices.values():
                device.step(event)
        for stack in self.stacks.values():
            for phase in reversed(stack):
                phase.ended = "process end"
                self.anomalies["phase left open"] += 1
                phase.split = {name: d.split() for name, d in self.devices.items()}

    def innermost(self):
        return self.stacks[self.owner][-1] if self.owner is not None else None

    def place(self, event):
        heap = self.heaps[int(event.words[0])]
        return heap, self.devices[heap.device], int(event.words[1])

    def close(self, device, block, event):
        now = device.now
        block.freed = event
        now["allocated"] -= block.size
        now["frees"] += 1
        if block.requested is None:
            now["unknown"] -= 1
        else:
            now["requested"] -= block.requested
        del device.living[block.address]
        if block.segment:
            block.segment.blocks.discard(block)

    def cut(self, size, room):
        if size > room:
            self.anomalies["size too large"] += 1
        return min(size, room)

    def do_A(self, event):
        heap, device, address = self.place(event)
        now, words = device.now, event.words
        if address in device.living:
            self.anomalies["address allocated twice"] += 1
            self.close(device, device.living[address], event)
        size = self.cut(int(words[2]), min(MOST, LARGEST - now["allocated"]))
        requested = None if words[3] == "-" else min(int(words[3]), MOST, LARGEST - now["requested"])
        site = site_text(name_of(words[4]), name_of(words[5]), int(words[6]))
        block = Block(event, heap, address, size, requested, site)
        device.living[address] = block
        self.blocks.append(block)
        for segment in device.segments.values():
            if segment.address <= address < segment.address + segment.size:
                block.segment = segment
                segment.blocks.add(block)
        now["allocated"] += size
        now["allocs"] += 1
        now["bytes"] += size
        now["unknown"] += requested is None
        now["requested"] += requested or 0
        own = self.stacks[event.tid]
        if own and own[-1].scope == "thread":
            block.phase = own[-1]

    def do_F(self, event):
        _, device, address = self.place(event)
        if address in device.living:
            self.close(device, device.living[address], event)
        else:
            self.anomalies["free without allocation"] += 1

    def close_segment(self, device, segment, event):
        segment.freed = event
        device.now["reserved"] -= segment.size
        del device.segments[segment.address]

    def do_S(self, event):
        heap, device, address = self.place(event)
        if address in device.segments:
            self.anomalies["segment taken twice"] += 1
            self.close_segment(device, device.segments[address], event)
        segment = Segment(event, heap, address, int(event.words[2]))
        device.segments[address] = segment
        self.segments.append(segment)
        device.now["reserved"] = (device.now["reserved"] or 0) + segment.size

    def do_end_s(self, event):
        _, device, address = self.place(event)
        if address in device.segments:
            self.close_segment(device, device.segments[address], event)
        else:
            self.anomalies["segment free without allocation"] += 1

    def do_B(self, event):
        name, own, around = name_of(event.words[0]), self.stacks[event.tid], self.innermost()
        scope = "process" if self.owner in (None, event.tid) else "thread"
        parent = own[-1] if own else around
        count = self.ordinals.get((self.step, name), 0)
        self.ordinals[self.step, name] = count + 1
        phase = Phase(event, name, parent, scope, self.step, count)
        own.append(phase)
        self.phases.append(phase)
        if scope == "process":
            self.owner = event.tid
            event.here = phase

    def do_E(self, event):
        name, own = name_of(event.words[0]), self.stacks[event.tid]
        if not own or (name is not None and all(phase.name != name for phase in own)):
            self.anomalies["phase end without begin"] += 1
            return
        while True:
            phase = own.pop()
            phase.end = event
            phase.split = {name: d.split() for name, d in self.devices.items()}
            if name in (None, phase.name):
                break
            phase.ended = "unbalanced"
            self.anomalies["phase unbalanced"] += 1
        phase.ended = "end"
        if self.owner == event.tid and not (own and own[-1].scope == "process"):
            self.owner = None

    def do_T(self, event):
        event.step = self.step = int(event.words[0])

    def do_end_t(self, event):
        if self.step is None:
            self.anomalies["step end without begin"] += 1
        self.step = None

    def do_M(self, event):
        pass

    def do_G(self, event):
        _, device, address = self.place(event)
        end = address + max(1, int(event.words[2]))
        for block in device.living.values():
            if address <= block.address < end:
                block.tag = (int(event.words[3]), name_of(event.words[4]))

    def do_O(self, event):
        _, device, _ = self.place(event)
        event.allocated, event.reserved = device.now["allocated"], device.now["reserved"]

    # ---- what a stretch of events did on a device ----

    def stretch(self, device, first, last):
        """Columns of phase_device for the events first..last (places in self.events)."""
        after = self.devices[device].after
        begin, end = after[first], after[last + 1]
        inside = after[first:last + 2]
        peak = max(values["allocated"] for values in inside)
        at = next(i for i, values in enumerate(inside) if values["allocated"] == peak)
        return dict(
            begin_allocated=begin["allocated"], allocated=end["allocated"],
            requested=None if end["unknown"] else end["requested"], active=None,
            reserved=end["reserved"], max_allocated=end["top"],
            max_allocated_seq=end["top_at"] and end["top_at"].seq,
            max_reserved=end["top_reserved"], peak_allocated=peak,
            peak_seq=self.events[first + at - 1].seq if at else None,
            peak_reserved=inside[at]["reserved"], allocs=end["allocs"] - begin["allocs"],
            frees=end["frees"] - begin["frees"],
            alloc_bytes=min(LARGEST, (end["bytes"] - begin["bytes"]) % 2 ** 64))
