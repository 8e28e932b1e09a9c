"""A slow model of PyTorch's caching allocator, to make snapshots of which the truth is known.

Written from the rules, not from allocator/: rounding to 512, a small and a large pool for each
stream and private pool, best fit by size and address, splitting, merging, segments of 2 MiB, 20 MiB
or rounded to 2 MiB, frees that wait for another stream, expandable segments mapped page by page.
"""
import random

KIB, MIB = 1024, 1024 * 1024


class Block:
    def __init__(self, segment, address, size):
        self.segment, self.address, self.size = segment, address, size
        self.requested, self.state, self.frames = 0, "inactive", []


class Segment:
    def __init__(self, address, size, kind, key, expandable=False):
        self.address, self.size, self.kind, self.key = address, size, kind, key
        self.expandable = expandable
        self.mapped = [(address, size)] if not expandable else []
        self.blocks = [Block(self, address, size)] if not expandable else []


class Heap:
    """One device. `trace` is everything that happened; `truth` the allocs with their sizes."""

    def __init__(self, device, rng, expandable=False, max_split=None, divisions=0, clock=None):
        self.device, self.rng, self.expandable = device, rng, expandable
        self.max_split, self.divisions = max_split or 1 << 62, divisions
        self.segments, self.trace, self.truth = [], [], []
        self.next_address = 0x7F0000000000 + (device << 36)
        self.clock = clock or [1_700_000_000_000_000]
        self.live = {}

    def log(self, action, addr, size, stream, frames=None):
        self.clock[0] += self.rng.randrange(0, 4)
        entry = {"action": action, "addr": addr, "size": size, "stream": stream,
                 "time_us": self.clock[0]}
        if action == "oom":
            del entry["addr"]
            entry["device_free"] = 12345
        if frames is not None:
            entry["frames"] = frames
        self.trace.append(entry)

    def rounded(self, n):
        if n < 512:
            return 512
        d = self.divisions
        if d > 1 and n > 512 * d:
            power = 1 << (n.bit_length() - 1)
            if n == power:
                return n
            step = power // d
            return -(-n // step) * step
        return -(-n // 512) * 512

    def free_blocks(self, key, kind):
        return [b for s in self.segments if s.key == key and s.kind == kind
                for b in s.blocks if b.state == "inactive"]

    def split(self, block, r):
        rest = block.size - r
        small = block.segment.kind == "small" or block.segment.expandable
        if rest >= 512 if small else (r < self.max_split and rest > MIB):
            tail = Block(block.segment, block.address + r, rest)
            tail.requested = block.requested
            block.size = r
            blocks = block.segment.blocks
            blocks.insert(blocks.index(block) + 1, tail)

    def new_segment(self, r, key, kind):
        size = 2 * MIB if kind == "small" else 20 * MIB if r < 10 * MIB else -(-r // (2 * MIB)) * 2 * MIB
        segment = Segment(self.next_address, size, kind, key)
        self.next_address += size + self.rng.choice([0, 2 * MIB])
        self.segments.append(segment)
        self.log("segment_alloc", segment.address, size, key[0], [])
        return segment.blocks[0]

    def grow(self, r, key, kind):
        page = 2 * MIB if kind == "small" else 20 * MIB
        found = [s for s in self.segments if s.expandable and s.key == key and s.kind == kind]
        if not found:
            found = [Segment(self.next_address, 0, kind, key, True)]
            self.next_address += 1 << 34
            self.segments.append(found[0])
        s = found[0]
        end = s.mapped[-1][0] + s.mapped[-1][1] if s.mapped else s.address
        last = s.blocks[-1] if s.blocks and s.blocks[-1].address + s.blocks[-1].size == end else None
        have = last.size if last and last.state == "inactive" else 0
        size = -(-(r - have) // page) * page
        self.log("segment_map", end, size, key[0], [])
        if s.mapped:
            s.mapped[-1] = (s.mapped[-1][0], s.mapped[-1][1] + size)
        else:
            s.mapped.append((end, size))
        if have:
            last.size += size
            return last
        s.blocks.append(Block(s, end, size))
        return s.blocks[-1]

    def malloc(self, n, stream=0, pool=(0, 0), frames=None):
        r = self.rounded(n)
        kind = "small" if r <= MIB else "large"
        key = (stream, pool)
        fits = [b for b in self.free_blocks(key, kind) if b.size >= r
                and not (r < self.max_split <= b.size)
                and not (r >= self.max_split and b.size >= r + 20 * MIB)]
        if fits:
            block = min(fits, key=lambda b: (b.size, b.address))
        elif self.expandable:
            block = self.grow(r, key, kind)
        else:
            block = self.new_segment(r, key, kind)
        self.split(block, r)
        block.state, block.requested, block.frames = "active_allocated", n, frames or []
        self.log("alloc", block.address, n, stream, frames)
        self.truth.append((len(self.trace) - 1, block.address, block.size, n, stream, pool))
        self.live[block.address] = block
        return block

    def free(self, block, waits=False, frames=None):
        self.log("free_requested", block.address, block.requested, block.segment.key[0], frames)
        del self.live[block.address]
        block.state = "active_pending_free"
        if not waits:
            self.complete(block, frames)

    def complete(self, block, frames=None):
        self.log("free_completed", block.address, block.requested, block.segment.key[0], frames)
        block.state, block.frames = "inactive", []
        blocks = block.segment.blocks
        at = blocks.index(block)
        for other in (at + 1, at - 1):
            if 0 <= other < len(blocks) and blocks[other].state == "inactive":
                first, second = sorted((at, other))
                if blocks[first].address + blocks[first].size != blocks[second].address:
                    continue
                blocks[first].size += blocks[second].size
                del blocks[second]
                at = first

    def empty_cache(self):
        for s in list(self.segments):
            if not s.expandable and len(s.blocks) == 1 and s.blocks[0].state == "inactive":
                self.log("segment_free", s.address, s.size, s.key[0])
                self.segments.remove(s)
            elif s.expandable and s.blocks and s.blocks[-1].state == "inactive":
                self.unmap_tail(s)

    def unmap_tail(self, s):
        page = 2 * MIB if s.kind == "small" else 20 * MIB
        last = s.blocks[-1]
        begin = s.address + -(-(last.address - s.address) // page) * page
        size = last.address + last.size - begin
        if size <= 0:
            return
        self.log("segment_unmap", begin, size, s.key[0])
        last.size -= size
        if not last.size:
            s.blocks.pop()
        s.mapped[-1] = (s.mapped[-1][0], s.mapped[-1][1] - size)
        if not s.mapped[-1][1]:
            self.segments.remove(s)

    def describe(self, legacy=False):
        out = []
        for s in sorted(self.segments, key=lambda s: s.address):
            size = s.mapped[0][1]
            blocks = []
            for b in s.blocks:
                d = {"address": b.address, "size": b.size, "requested_size": b.requested,
                     "state": b.state, "frames": b.frames}
                if legacy:
                    d = {"size": b.size, "state": b.state}
                    if b.state != "inactive":
                        d["history"] = [{"real_size": b.requested, "frames": b.frames}]
                blocks.append(d)
            out.append({"device": self.device, "address": s.address, "total_size": size,
                        "allocated_size": 0, "active_size": 0, "requested_size": 0,
                        "stream": s.key[0], "segment_type": s.kind, "segment_pool_id": s.key[1],
                        "is_expandable": s.expandable, "frames": [], "blocks": blocks})
        return out


FRAMES = [{"name": f"f{i}", "filename": f"/data/m{i % 3}.py", "line": 10 + i} for i in range(12)]


def run(heap, steps, streams=(0,), pools=((0, 0),), waits=0.0):
    """Random work; living blocks drift between few and many."""
    rng, pending = heap.rng, []
    for _ in range(steps):
        x = rng.random()
        frames = list(rng.sample(FRAMES, rng.randrange(0, 4)))
        if x < 0.02 and not pending:
            heap.empty_cache()
        elif x < 0.04 and pending:
            heap.complete(pending.pop(0))
        elif x < 0.55 or not heap.live:
            n = rng.choice([rng.randrange(1, 4 * KIB), rng.randrange(1, MIB),
                            rng.randrange(MIB, 12 * MIB), rng.randrange(1, 40 * MIB)])
            heap.malloc(n, rng.choice(streams), rng.choice(pools), frames)
        else:
            block = heap.live[rng.choice(list(heap.live))]
            wait = rng.random() < waits
            heap.free(block, wait, frames)
            if wait:
                pending.append(block)


def seeded(seed):
    return random.Random(seed)
