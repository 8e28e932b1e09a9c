"""In a rehearsal: what programs ask of floats before they go on. That probabilities add up to one, that a
deviation is above zero (torch.distributions), that a loss of 16 bits is finite, is computed on the device
and read; in a rehearsal floats are not computed, and what is read is false. So the answer is true. It is
put where the answer stands: the same tensors come and go as on a GPU. Whether floats of 32 and 64 bits
are finite the stand-in answers itself."""
import os

from tidemark._marks import adopt


def always(original, concerns):
    def wrapper(*args, **kwargs):
        answer = original(*args, **kwargs)
        asked = args[0] if args else kwargs.get("input")
        return answer.fill_(True) if concerns(asked) else answer

    return adopt(wrapper, original)


def install(torch):
    """Before PyTorch 2.7 distributions ask by all(), as everybody does."""
    if not os.environ.get("TIDEMARK_REHEARSAL"):
        return

    def on_device(tensor):
        return isinstance(tensor, torch.Tensor) and tensor.is_cuda

    def short(tensor):
        return on_device(tensor) and tensor.dtype in (torch.float16, torch.bfloat16)

    if hasattr(torch, "_is_all_true"):
        torch._is_all_true = always(torch._is_all_true, on_device)
    torch.isfinite = always(torch.isfinite, short)
    torch.Tensor.isfinite = always(torch.Tensor.isfinite, short)
