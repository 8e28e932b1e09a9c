"""In a rehearsal: Python objects that ranks send each other. PyTorch sends them by tensors on the
device if the group has no other, and computes there how long they are; nothing is computed in a
rehearsal. So they travel by a group of the same ranks whose memory is the host's, which is made by
the first that is sent."""
import inspect
import os

from tidemark._marks import adopt

REHEARSED = "TIDEMARK_REHEARSAL"
COLLECTIVE = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")
BETWEEN_TWO = {"send_object_list": "dst", "recv_object_list": "src"}


class Groups(object):
    """The groups of the host, by the ranks in them."""

    def __init__(self, distributed):
        self.distributed = distributed
        self.made = {}

    def on_device(self, group):
        return self.distributed.distributed_c10d._get_object_coll_device(group) != "cpu"

    def of(self, ranks):
        """Anew where the program has destroyed its groups since."""
        group = self.made.get(ranks)
        if group is None or group not in self.distributed.distributed_c10d._world.pg_map:
            group = self.made[ranks] = self.distributed.new_group(
                list(ranks), backend="gloo", use_local_synchronization=True)
        return group


def stand_in(distributed, groups, arguments, peer):
    """The group for one call, or None: the call is as it should be."""
    group = arguments.get("group")
    if group is distributed.GroupMember.NON_GROUP_MEMBER or not groups.on_device(group):
        return None
    ranks = tuple(distributed.get_process_group_ranks(group or distributed.group.WORLD))
    if peer is None:
        return groups.of(ranks)
    other = arguments.get(peer)
    if other is None:
        number = arguments.get("group_" + peer)
        if number is None:
            return None  # whoever sends first
        other = ranks[number]
        arguments["group_" + peer] = None
        arguments[peer] = other
    return groups.of(tuple(sorted((distributed.get_rank(), other))))


def wrap(distributed, groups, name):
    original = getattr(distributed.distributed_c10d, name)
    signature = inspect.signature(original)

    def wrapper(*args, **kwargs):
        try:
            arguments = signature.bind(*args, **kwargs).arguments
            group = stand_in(distributed, groups, arguments, BETWEEN_TWO.get(name))
        except TypeError:
            group = None
        if group is None:
            return original(*args, **kwargs)
        arguments.update(group=group)
        arguments.pop("device", None)
        return original(**arguments)

    return adopt(wrapper, original)


def install(torch):
    distributed = torch.distributed
    if not os.environ.get(REHEARSED) or not distributed.is_available():
        return
    groups = Groups(distributed)
    for name in COLLECTIVE + tuple(BETWEEN_TWO):
        original = getattr(distributed.distributed_c10d, name, None)
        if original is None:
            continue
        wrapper = wrap(distributed, groups, name)
        for module in (distributed, distributed.distributed_c10d):
            if getattr(module, name, None) is original:
                setattr(module, name, wrapper)
