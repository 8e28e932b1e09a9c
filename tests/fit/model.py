"""A slow model of PyTorch's allocation policy, to check `tidemark fit` with.

Free blocks are one list for each stream and kind of segment, looked through from end to end; a
segment is a list of blocks in the order of their addresses. Nothing is indexed and nothing is kept
that could be counted instead.
"""

MIB = 1 << 20


class Refused(Exception):
    """No memory was left for a request."""


class Block:
    def __init__(self, segment, address, size):
        self.segment = segment
        self.address = address
        self.size = size
        self.state = "free"  # or living, awaiting, unmapped
        self.since = 0  # searches in its pool before it became free


class Segment:
    def __init__(self, key, address, size):
        self.key = key  # (stream, small)
        self.size = size
        self.blocks = [Block(self, address, size)]


class Range(Segment):
    """An expandable segment: addresses, of which pages have memory."""

    def __init__(self, key, address, size):
        super().__init__(key, address, size)
        self.blocks[0].state = "unmapped"
        self.page = 2 * MIB if key[1] else 20 * MIB


class Settings:
    def __init__(self, text=""):
        self.max_split = None
        self.roundup = 0
        self.expandable = False
        self.collect = 0.0
        for part in filter(None, text.split(",")):
            key, value = part.split(":")
            if key == "max_split_size_mb":
                self.max_split = int(value) * MIB
            elif key == "roundup_power2_divisions":
                self.roundup = int(value)
            elif key == "expandable_segments":
                self.expandable = value == "True"
            elif key == "garbage_collection_threshold":
                self.collect = float(value)
            else:
                raise ValueError(f"the model knows no {key}")

    def is_oversize(self, size):
        return self.max_split is not None and size >= self.max_split

    def round(self, size):
        if size < 512:
            return 512
        if self.roundup > 1 and size > 512 * self.roundup:
            power = 1 << (size.bit_length() - 1)
            if size == power:
                return size
            step = power // self.roundup
            return (size + step - 1) // step * step
        return (size + 511) // 512 * 512


def segment_size(size):
    if size <= MIB:
        return 2 * MIB
    if size < 10 * MIB:
        return 20 * MIB
    return (size + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)


class Heap:
    """What one device's allocator does with `memory` bytes; None = as many as are asked for."""

    def __init__(self, settings, memory=None):
        self.settings = settings
        self.memory = memory
        self.segments = []
        self.next_address = 0
        self.searches = {True: 0, False: 0}  # by small
        self.reserved = self.allocated = 0
        self.peak_reserved = self.peak_allocated = 0
        self.retries = 0
        self.living = {}  # number in the record to block, of awaiting ones too

    # ---- segments ----

    def reserve(self, size):
        """False if the device does not have so much."""
        if self.memory is not None and self.reserved + size > self.memory:
            return False
        self.reserved += size
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        return True

    def take(self, key, size):
        if not self.reserve(size):
            return None
        self.next_address += 1 << 40
        segment = Segment(key, self.next_address, size)
        self.segments.append(segment)
        return segment.blocks[0]

    def give(self, segment):
        self.segments.remove(segment)
        self.reserved -= segment.size

    def is_cached(self, segment):
        return (not isinstance(segment, Range) and len(segment.blocks) == 1
                and segment.blocks[0].state == "free")

    def empty_cache(self):
        for segment in [s for s in self.segments if isinstance(s, Range)]:
            self.unmap_free_pages(segment)
        for segment in [s for s in self.segments if self.is_cached(s)]:
            self.give(segment)

    # ---- ranges ----

    def map_front(self, block, wanted):
        """Gives the beginning of an unmapped block memory; the free block that it is in, or None."""
        segment = block.segment
        size = (wanted + segment.page - 1) // segment.page * segment.page
        if not self.reserve(size):
            return None
        at = segment.blocks.index(block)
        if size < block.size:
            rest = Block(segment, block.address + size, block.size - size)
            rest.state = "unmapped"
            segment.blocks.insert(at + 1, rest)
            block.size = size
        self.set_free(block)
        return next(b for b in segment.blocks
                    if b.address <= block.address < b.address + b.size)

    def place_for(self, key, size):
        """The lowest address with room, free or unmapped: the block there, if any."""
        for segment in sorted((s for s in self.segments if isinstance(s, Range) and s.key == key),
                              key=lambda s: s.blocks[0].address):
            for at, block in enumerate(segment.blocks):
                if block.state != "unmapped":
                    continue
                if at and segment.blocks[at - 1].state == "free":
                    at -= 1
                room = 0
                for other in segment.blocks[at:]:
                    if other.state not in ("free", "unmapped"):
                        break
                    room += other.size
                if room >= size:
                    return segment.blocks[at]
        return None

    def reserve_for(self, key):
        """An eighth more addresses than the device has memory, in whole pages."""
        page = 2 * MIB if key[1] else 20 * MIB
        bytes = 1 << 48 if self.memory is None else self.memory * 9 // 8
        return -(-bytes // page) * page

    def expand(self, key, size):
        block = self.place_for(key, size)
        if block is None:
            self.next_address += 1 << 50
            segment = Range(key, self.next_address, self.reserve_for(key))
            if segment.size < size:
                return None
            segment.size = 0  # of memory; what is mapped is counted as it is
            self.segments.append(segment)
            block = segment.blocks[0]
        if block.state == "unmapped":
            block = self.map_front(block, min(size, block.size))
        while block is not None and block.size < size:
            blocks = block.segment.blocks
            behind = blocks[blocks.index(block) + 1]
            block = self.map_front(behind, min(size - block.size, behind.size))
        return block

    def unmap_free_pages(self, segment):
        base = segment.blocks[0].address
        for block in [b for b in segment.blocks if b.state == "free"]:
            page = segment.page
            first = (block.address - base + page - 1) // page * page + base
            last = (block.address + block.size - base) // page * page + base
            if last <= first:
                continue
            at = segment.blocks.index(block)
            parts = [(block.address, first, "free"), (first, last, "unmapped"),
                     (last, block.address + block.size, "free")]
            pieces = []
            for begin, end, state in parts:
                if end > begin:
                    piece = Block(segment, begin, end - begin)
                    piece.state = state
                    pieces.append(piece)
            segment.blocks[at:at + 1] = pieces
            self.reserved -= last - first
        joined = segment.blocks[:1]
        for block in segment.blocks[1:]:
            if block.state == "unmapped" == joined[-1].state:
                joined[-1].size += block.size
            else:
                joined.append(block)
        segment.blocks = joined
        if len(joined) == 1 and joined[0].state == "unmapped":
            self.segments.remove(segment)

    # ---- garbage ----

    def collect(self):
        if not self.settings.collect or self.memory is None:
            return
        threshold = int(self.settings.collect * self.memory)
        target, freed = self.reserved - threshold, 0
        old = [s for s in self.segments if self.is_cached(s) and not s.key[1]]
        age = {s: self.searches[False] - s.blocks[0].since for s in old}
        found = True
        while freed < target and found and age:
            mean = sum(age.values()) / len(age)
            found = [s for s in age if age[s] >= mean]
            for segment in found:
                freed += segment.size
                del age[segment]
                self.give(segment)

    # ---- looking for a block ----

    def free_blocks(self, key):
        return [block for segment in self.segments if segment.key == key
                for block in segment.blocks if block.state == "free"]

    def find(self, key, size):
        self.searches[key[1]] += 1
        fits = sorted((block for block in self.free_blocks(key) if block.size >= size),
                      key=lambda b: (b.size, b.address))
        if not fits:
            return None
        block = fits[0]
        if self.settings.expandable:
            # Of those in line, rather one that could not grow much.
            for other in fits[1:]:
                if self.could_be(other) >= self.could_be(block):
                    break
                block = other
        if self.settings.max_split is not None:
            if not self.settings.is_oversize(size) and self.settings.is_oversize(block.size):
                return None
            if self.settings.is_oversize(size) and block.size >= size + 20 * MIB:
                return None
        return block

    def could_be(self, block):
        blocks = block.segment.blocks
        at = blocks.index(block) + 1
        grows = at < len(blocks) and blocks[at].state == "unmapped"
        return block.size + (blocks[at].size if grows else 0)

    def release_oversize(self, key, size):
        """True if enough of what is too large to be split went back to the device."""
        if self.settings.max_split is None:
            return False
        needed = max(size, self.settings.max_split)
        cached = [b for b in self.free_blocks(key) if self.is_cached(b.segment)]
        # The set is of all free blocks; one that shares its segment cannot go, but it is met.
        free = sorted(self.free_blocks(key), key=lambda b: (b.size, b.address))
        for block in free:
            if block.size >= needed:
                if block in cached:
                    self.give(block.segment)
                    return True
                return None
        total = 0
        for block in reversed(free):
            if total >= needed or not self.settings.is_oversize(block.size):
                break
            if block in cached:
                total += block.size
                self.give(block.segment)
        return total >= needed

    def climb(self, key, size):
        def attempt():
            if self.settings.expandable:
                return self.expand(key, size)
            return self.take(key, segment_size(size))

        self.collect()
        block = attempt()
        if block is None and self.release_oversize(key, size):
            block = attempt()
        if block is None:
            self.empty_cache()
            self.retries += 1
            block = attempt()
        if block is None:
            raise Refused()
        return block

    # ---- blocks ----

    def should_split(self, small, rest, size):
        if small or self.settings.expandable:
            return rest >= 512
        return not self.settings.is_oversize(size) and rest > MIB

    def malloc(self, asked, stream):
        size = self.settings.round(asked)
        key = (stream, size <= MIB)
        block = self.find(key, size) or self.climb(key, size)
        if self.should_split(key[1], block.size - size, size):
            blocks = block.segment.blocks
            rest = Block(block.segment, block.address + size, block.size - size)
            rest.since = self.searches[key[1]]
            blocks.insert(blocks.index(block) + 1, rest)
            block.size = size
        block.state = "living"
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        return block

    def free(self, block, waits=False):
        self.allocated -= block.size
        block.state = "awaiting"
        if not waits:
            self.complete(block)

    def complete(self, block):
        self.set_free(block)

    def set_free(self, block):
        block.state = "free"
        block.since = self.searches[block.segment.key[1]]
        blocks = block.segment.blocks
        at = blocks.index(block)
        if at + 1 < len(blocks) and blocks[at + 1].state == "free":
            block.size += blocks.pop(at + 1).size
        if at and blocks[at - 1].state == "free":
            blocks[at - 1].size += block.size
            blocks[at - 1].since = block.since
            blocks.pop(at)


def adopt(heap, segments, blocks):
    """What lived before the record, as it lay: segments (address, size, stream), and blocks (number,
    address, size, asked, stream, state) in them. What lies between them is free."""
    for address, size, stream in sorted(segments):
        segment = Segment((stream, size == 2 * MIB), address, size)
        inside = sorted((b for b in blocks if address <= b[1] < address + size), key=lambda b: b[1])
        segment.blocks = []
        at = address
        for number, begin, block_size, _, _, state in inside:
            if begin > at:
                segment.blocks.append(Block(segment, at, begin - at))
            block = Block(segment, begin, block_size)
            block.state = state
            segment.blocks.append(block)
            heap.living[number] = block
            heap.allocated += block_size if state == "living" else 0
            at = begin + block_size
        if at < address + size:
            segment.blocks.append(Block(segment, at, address + size - at))
        heap.segments.append(segment)
        heap.reserved += size
    heap.peak_reserved = heap.reserved
    heap.peak_allocated = heap.allocated
    heap.next_address = max((s[0] for s in segments), default=0) + (1 << 41)


def ask_anew(heap, blocks):
    """The same where no segments are known: by address."""
    for number, _, _, asked, stream, state in sorted(blocks, key=lambda b: b[1]):
        heap.living[number] = heap.malloc(asked, stream)
        if state == "awaiting":
            heap.free(heap.living[number], True)


def settle(heap, blocks):
    """A full device waits for its streams before anything else. True if that helped anybody."""
    waiting = [number for number, block in blocks.items() if block.state == "awaiting"]
    for number in waiting:
        heap.complete(blocks.pop(number))
    return bool(waiting)


def malloc(heap, blocks, size, stream):
    try:
        return heap.malloc(size, stream)
    except Refused:
        if not settle(heap, blocks):
            raise
        return heap.malloc(size, stream)


def replay(ops, settings, memory=None, before=None):
    """The heap after it, and each block's address. Raises Refused. `before`: segments, blocks."""
    heap = Heap(settings, memory)
    if before and before[0]:
        adopt(heap, *before)
    elif before:
        ask_anew(heap, before[1])
    blocks = heap.living
    addresses = {}
    for kind, number, size, stream in ops:
        if kind == "alloc":
            blocks[number] = malloc(heap, blocks, size, stream)
            addresses[number] = blocks[number].address
        elif kind == "free":
            heap.free(blocks.pop(number))
        elif kind == "give":
            heap.free(blocks[number], True)
        elif kind == "idle":
            if number in blocks:  # else it was settled before
                heap.complete(blocks.pop(number))
        else:
            heap.empty_cache()
    return heap, addresses


def survives(ops, settings, memory, before=None):
    try:
        return replay(ops, settings, memory, before)[0]
    except Refused:
        return None
