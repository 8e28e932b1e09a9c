#!/usr/bin/env python3
"""check_perfetto.py TIDEMARK FOLDER PYTHON SNAPSHOTS DATA MAKE_FIXTURE [OWN]: our traces, read by
Perfetto's own message definitions (PYTHON has the package perfetto), have the sums of the recordings.
No field of ours may be unknown to them."""
import json
import os
import subprocess
import sys

import recordings

# Run by PYTHON. What a trace processor would compute is summed by hand: the highest value of each
# counter, heap profiles, slices and weights.
READ = """
import json, sys
from collections import Counter
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from google.protobuf.unknown_fields import UnknownFieldSet

def check(message):
    assert not len(UnknownFieldSet(message)), message
    for field, value in message.ListFields():
        if field.message_type:
            try:
                parts = iter(value)
            except TypeError:
                parts = [value]
            for part in parts:
                check(part)

trace = pb.Trace()
with open(sys.argv[1], 'rb') as file:
    trace.ParseFromString(file.read())
check(trace)
tracks, parent, counters, slices, heaps = {}, {}, {}, Counter(), []
stacks, frames, texts, weight, instants, depth = {}, {}, {}, 0, 0, Counter()
for packet in trace.packet:
    for text in packet.interned_data.function_names:
        texts[text.iid] = text.str
    for frame in packet.interned_data.frames:
        assert frame.function_name_id in texts
        frames[frame.iid] = frame
    for stack in packet.interned_data.callstacks:
        assert all(frame in frames for frame in stack.frame_ids)
        stacks[stack.iid] = stack
    if packet.HasField('track_descriptor'):
        track = packet.track_descriptor
        tracks[track.uuid], parent[track.uuid] = track, track.parent_uuid
    if packet.HasField('track_event'):
        event = packet.track_event
        track = tracks[event.track_uuid]
        if event.type == event.TYPE_COUNTER:
            assert track.HasField('counter'), track
            at = event.track_uuid
            counters[at] = max(counters.get(at, 0), event.counter_value)
        elif event.type == event.TYPE_SLICE_BEGIN:
            slices['begin'] += 1
            depth[event.track_uuid] += 1
        elif event.type == event.TYPE_SLICE_END:
            slices['end'] += 1
            depth[event.track_uuid] -= 1
            assert depth[event.track_uuid] >= 0
        elif event.HasField('callstack_weight'):
            assert event.callstack_iid in stacks
            weight += int(event.callstack_weight)
        else:
            instants += 1
    if packet.HasField('profile_packet'):
        for dump in packet.profile_packet.process_dumps:
            assert all(sample.callstack_id in stacks for sample in dump.samples)
            heaps.append((sum(s.self_allocated for s in dump.samples), sum(s.alloc_count for s in dump.samples)))
assert not any(depth.values())
print(json.dumps({'heaps': heaps, 'weight': weight, 'instants': instants, 'slices': slices,
                  'counters': [[tracks[at].name, value] for at, value in counters.items()]}))
"""


def read(python, path):
    return json.loads(recordings.run(python, "-c", READ, path))


def check(path, got):
    live = recordings.live_at_peak(path)
    assert sorted(map(tuple, got["heaps"])) == sorted(live.values()), (path, got["heaps"])
    assert got["weight"] == recordings.allocated(path)[1], (path, got["weight"])
    assert got["slices"].get("begin") == got["slices"].get("end"), path
    assert got["instants"] == recordings.ask(path, "SELECT count(*) FROM oom")[0][0], path
    want = recordings.ask(path, "SELECT device, allocated FROM peak WHERE allocated IS NOT NULL")
    highest = sorted(value for name, value in got["counters"] if name.startswith("allocated"))
    assert highest == sorted(allocated for _, allocated in want), (path, got["counters"], want)


def main():
    tidemark, folder, python, *rest = sys.argv[1:]
    try:
        found = subprocess.run([python, "-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"],
                               capture_output=True, check=False).returncode == 0
    except OSError:
        found = False
    if not found:
        print("no Python with the package perfetto (TIDEMARK_PERFETTO_PYTHON)")
        return 77
    compared = 0
    for path in recordings.make(tidemark, folder, *rest):
        if not recordings.live_at_peak(path):
            continue
        made = recordings.export(tidemark, "perfetto", path, folder, "--blocks", "0")
        check(path, read(python, made))
        compared += 1
        print(f"{os.path.basename(path)}: {os.path.getsize(made)} bytes")
    assert compared >= 6
    print(f"{compared} recordings agree")
    return 0


sys.exit(main())
