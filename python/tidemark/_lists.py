"""Lists of the recording: rows of places in memory. See _tags.py for how they are used."""
import weakref
from array import array
from itertools import count

PARAMETER, GRADIENT, STATE, INPUT, BUCKET, OTHER = 1, 2, 3, 5, 6, 8

DEVICE_KINDS = {"cpu": 0, "cuda": 1, "xpu": 4}
# A place as cells of an array: address, bytes, heap, category, name; see struct place of pyapi.c.
CELLS, ADDRESS, CATEGORY = 5, 0, 3


def heap_of(library, device, cache={}):
    heap = cache.get(device)
    if heap is None:
        kind = DEVICE_KINDS.get(device.type, 3)
        index = 0 if kind == 0 else -1 if device.index is None else device.index
        heap = library.heap(kind, index)
        if heap:  # 0: nobody records just now
            cache[device] = heap
    return heap


def memory_of(tensor):
    """The tensor whose memory this one's is. One of a class that wraps others (DTensor) has none:
    the largest inside stands for it."""
    while not tensor.data_ptr() and hasattr(type(tensor), "__tensor_flatten__"):
        inner = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
        inner = [one for one in inner if hasattr(one, "data_ptr")]
        if not inner:
            break
        tensor = max(inner, key=lambda one: one.numel() * one.element_size())
    return tensor


def place_of(library, tensor):
    """(address, bytes, heap); zeroes for what has no memory of its own."""
    try:
        tensor = memory_of(tensor)
        address = tensor.data_ptr()
        size = tensor.numel() * tensor.element_size()
        return (address, size, heap_of(library, tensor.device)) if address else (0, 0, 0)
    except Exception:
        return (0, 0, 0)


class Table(object):
    """Values for objects, which are forgotten with them. By identity: an object's own idea of what
    is equal does not count. `gone` is called with the value of an object that is gone."""

    def __init__(self, gone=None):
        self.entries = {}  # id -> (weak reference, value)
        self.gone = gone

    def get(self, owner):
        entry = self.entries.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def put(self, owner, value):
        key, entries, gone = id(owner), self.entries, self.gone

        def forget(reference):
            entry = entries.get(key)
            if entry is not None and entry[0] is reference:
                del entries[key]
                if gone is not None:
                    gone(entry[1])

        entries[key] = (weakref.ref(owner, forget), value)
        return value

    def forget(self, owner):
        """Without a word to `gone`."""
        if self.get(owner) is not None:
            del self.entries[id(owner)]


class List(object):
    """One list of the recording. `sent` is what the recorder has, the cells of all places, and
    `holds` whether there is memory in any; a list whose owner died is used again, with what it has.
    What was sent in another recording of this process (`since`) this one does not have. No array is
    changed once it is `sent`: without a GIL, another thread may be reading it.
    """

    __slots__ = ("library", "number", "key", "sent", "holds", "since")
    numbers = count(1)

    def __init__(self, library):
        self.library = library
        self.number = next(self.numbers)
        self.key = None
        self.sent = array("Q")
        self.holds = False
        self.since = 0

    def hold(self, key, describe):
        """`key` changes whenever describe() would give something else."""
        recording = self.library.recording[0]
        if key != self.key or recording != self.since:
            if recording != self.since:
                self.sent = array("Q")
                self.since = recording
            self.send(describe(), recording)
            self.key = key
        if self.holds:
            self.library.hold(self.number, recording)

    def send(self, places, recording):
        """The places as tuples, or as an array of their cells. One that is gone becomes empty. If the
        next recording has begun meanwhile, it takes nothing of this, and gets it all anew."""
        cells = places
        if type(places) is not array:
            cells = array("Q", [cell for place in places for cell in place])
        before = self.sent
        more = len(cells) - len(before)
        if more > 0:
            before = before + array("Q", [0]) * more
        else:
            cells.extend([0] * -more)
        now, sent = cells.buffer_info()[0], before.buffer_info()[0]
        self.library.places(self.number, now, sent, len(cells) // CELLS, recording)
        self.sent = cells
        self.holds = any(cells[ADDRESS::CELLS])
