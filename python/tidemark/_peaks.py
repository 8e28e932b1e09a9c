"""torch.cuda.reset_peak_memory_stats has no counterpart here: the highest of a recording is never
reset. A mark says when the program did it, and of which device, so that whoever compares the two
knows where they part.

torch.cuda.reset_max_memory_allocated and reset_max_memory_cached call the same function by the name
that it has in torch.cuda.memory.
"""
from tidemark._marks import adopt

NAME = "cuda peaks reset"
FUNCTION = "reset_peak_memory_stats"


def device_of(memory, device):
    """The number of a device as the program names it; -1 if that is not known."""
    try:
        return memory._get_device_index(device, optional=True)
    except Exception:
        return -1


def install(torch, library):
    memory = torch.cuda.memory
    reset = getattr(memory, FUNCTION)

    def reset_peak_memory_stats(device=None, *args, **kwargs):
        result = reset(device, *args, **kwargs)
        library.mark(library.name(NAME), device_of(memory, device))
        return result

    wrapper = adopt(reset_peak_memory_stats, reset)
    for module in (memory, torch.cuda):
        if getattr(module, FUNCTION, None) is reset:
            setattr(module, FUNCTION, wrapper)
