"""A slow model of PyTorch's allocation policy, to check `tidemark fit` with.

Free blocks are one list for each stream and kind of segment, looked through from end to end; a
segment is a list of blocks in the order of their addresses. Nothing is indexed and nothing is kept
that could be counted instead. No expandable segments and no garbage collection.
"""

MIB = 1 << 20


class Refused(Exception):
    """No memory was left for a request."""


class Block:
    def __init__(self, segment, address, size):
        self.segment = segment
        self.address = address
        self.size = size
        self.state = "free"  # or living, awaiting


class Segment:
    def __init__(self, key, address, size):
        self.key = key  # (stream, small)
        self.size = size
        self.blocks = [Block(self, address, size)]


class Settings:
    def __init__(self, text=""):
        self.max_split = None
        self.roundup = 0
        for part in filter(None, text.split(",")):
            key, value = part.split(":")
            if key == "max_split_size_mb":
                self.max_split = int(value) * MIB
            elif key == "roundup_power2_divisions":
                self.roundup = int(value)
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
        self.reserved = self.allocated = 0
        self.peak_reserved = self.peak_allocated = 0
        self.retries = 0
        self.living = {}  # number in the record to block, of awaiting ones too

    # ---- segments ----

    def take(self, key, size):
        if self.memory is not None and self.reserved + size > self.memory:
            return None
        self.next_address += 1 << 40
        segment = Segment(key, self.next_address, size)
        self.segments.append(segment)
        self.reserved += size
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        return segment.blocks[0]

    def give(self, segment):
        self.segments.remove(segment)
        self.reserved -= segment.size

    def is_cached(self, segment):
        return len(segment.blocks) == 1 and segment.blocks[0].state == "free"

    def empty_cache(self):
        for segment in [s for s in self.segments if self.is_cached(s)]:
            self.give(segment)

    # ---- looking for a block ----

    def free_blocks(self, key):
        return [block for segment in self.segments if segment.key == key
                for block in segment.blocks if block.state == "free"]

    def find(self, key, size):
        fits = [block for block in self.free_blocks(key) if block.size >= size]
        if not fits:
            return None
        block = min(fits, key=lambda b: (b.size, b.address))
        if self.settings.max_split is not None:
            if not self.settings.is_oversize(size) and self.settings.is_oversize(block.size):
                return None
            if self.settings.is_oversize(size) and block.size >= size + 20 * MIB:
                return None
        return block

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
        want = segment_size(size)
        block = self.take(key, want)
        if block is None and self.release_oversize(key, size):
            block = self.take(key, want)
        if block is None:
            self.empty_cache()
            self.retries += 1
            block = self.take(key, want)
        if block is None:
            raise Refused()
        return block

    # ---- blocks ----

    def should_split(self, small, rest, size):
        if small:
            return rest >= 512
        return not self.settings.is_oversize(size) and rest > MIB

    def malloc(self, asked, stream):
        size = self.settings.round(asked)
        key = (stream, size <= MIB)
        block = self.find(key, size) or self.climb(key, size)
        if self.should_split(key[1], block.size - size, size):
            blocks = block.segment.blocks
            rest = Block(block.segment, block.address + size, block.size - size)
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
        block.state = "free"
        blocks = block.segment.blocks
        at = blocks.index(block)
        if at + 1 < len(blocks) and blocks[at + 1].state == "free":
            block.size += blocks.pop(at + 1).size
        if at and blocks[at - 1].state == "free":
            blocks[at - 1].size += block.size
            blocks.pop(at)


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


def replay(ops, settings, memory=None):
    """The heap after it, and each block's address. Raises Refused."""
    heap = Heap(settings, memory)
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


def survives(ops, settings, memory):
    try:
        return replay(ops, settings, memory)[0]
    except Refused:
        return None
