"""The buckets of DistributedDataParallel: they live in C++, and no tensor of the program leads to
them. They are the blocks that stay of those that a reducer makes when it is made and when it makes
its buckets anew."""
from tidemark._lists import BUCKET, List, Table, heap_of


class Reducer(object):
    """What is known of one reducer."""

    __slots__ = ("list", "heap", "count", "size")

    def __init__(self, library):
        self.list = List(library)
        self.heap = self.count = self.size = 0  # its parameters: how many, how many bytes


class Buckets(object):
    def __init__(self, torch, library):
        self.torch = torch
        self.library = library
        self.clear()

    def clear(self):
        self.reducers = Table()

    def hold(self):
        """After the gradients: those that are views into a bucket belong to it."""
        for reference, reducer in list(self.reducers.entries.values()):
            places = reducer.list.key
            if places:
                reducer.list.hold(places, lambda: places)

    def found(self, owner, parameters, blocks):
        reducer = self.reducers.get(owner)
        if reducer is None:
            reducer = self.reducers.put(owner, Reducer(self.library))
        if parameters:
            reducer.heap = heap_of(self.library, parameters[0].device)
            reducer.count = len(parameters)
            reducer.size = sum(p.numel() * p.element_size() for p in parameters)
        places = [
            (address, size, reducer.heap, BUCKET, self.library.name("bucket %d" % i))
            for i, (address, size) in enumerate(buckets_of(blocks, reducer.count, reducer.size))
        ]
        if places:
            reducer.list.hold(places, lambda: places)

    def install(self):
        distributed = self.torch.distributed
        if not distributed.is_available():
            return
        reducer = distributed.Reducer
        parallel = self.torch.nn.parallel.DistributedDataParallel
        build, rebuild, buckets = parallel._ddp_init_helper, reducer._rebuild_buckets, self

        def _ddp_init_helper(self, *args, **kwargs):
            with Watch(buckets) as watch:
                result = build(self, *args, **kwargs)
            watch.found(self.reducer, args[0] if args else kwargs.get("parameters"))
            return result

        def _rebuild_buckets(self):
            with Watch(buckets) as watch:
                done = rebuild(self)
            if done:
                watch.found(self, None)
            return done

        parallel._ddp_init_helper = _ddp_init_helper
        reducer._rebuild_buckets = _rebuild_buckets


class Watch(object):
    """The blocks that the C++ of a reducer makes and keeps while the watch is on."""

    def __init__(self, buckets):
        self.buckets = buckets
        self.library = buckets.library
        self.blocks = []

    def __enter__(self):
        self.on = self.library.watch()
        return self

    def __exit__(self, *exception):
        if self.on:
            self.blocks = self.library.watched()
        return False

    def found(self, reducer, parameters):
        try:
            self.buckets.found(reducer, parameters, self.blocks)
        except Exception:
            pass


def buckets_of(blocks, count, size):
    """Without what a reducer keeps or sends besides: a few integers for each parameter. Those are
    the small ones without which the rest still has room for all gradients."""
    left = list(blocks)
    for block in sorted(blocks, key=lambda block: block[1]):
        if block[1] <= 8 * count + 512 and sum(one[1] for one in left) - block[1] >= size:
            left.remove(block)
    return left
