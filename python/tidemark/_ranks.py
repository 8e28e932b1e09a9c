"""The rank of a process whose environment does not say it: torch.multiprocessing.spawn starts ranks
without RANK, and they give it to init_process_group themselves. What the environment said is kept.
"""
import sys

from tidemark._marks import adopt


def tell(distributed, library):
    try:
        for name, number in (("rank", distributed.get_rank()),
                             ("world_size", distributed.get_world_size())):
            library.setting(("%s=%d" % (name, number)).encode("ascii"))
    except Exception:
        pass


def install(torch, library):
    distributed = torch.distributed
    if not distributed.is_available():
        return
    if distributed.is_initialized():  # a recording that began in the middle
        tell(distributed, library)
    library.again.append(lambda: distributed.is_initialized() and tell(distributed, library))
    original = distributed.init_process_group

    def init_process_group(*args, **kwargs):
        result = original(*args, **kwargs)
        tell(distributed, library)
        return result

    wrapper = adopt(init_process_group, original)
    for name, module in list(sys.modules.items()):  # device_mesh has a name of its own for it
        if name.startswith("torch.distributed") and \
                getattr(module, "__dict__", {}).get("init_process_group") is original:
            module.init_process_group = wrapper
