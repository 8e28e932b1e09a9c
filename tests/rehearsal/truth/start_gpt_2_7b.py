"""Starts the memory profile of the program gpt-2.7b as its author did: full or mixed precision."""
import sys

import torch

# What the weights are does not reach the GPU's memory, and 13 GiB of them would fill the host's:
# left alone, the zeros that they start as take none.
torch.nn.init.trunc_normal_ = lambda tensor, **_: tensor

from cs336_systems import benchmark  # noqa: E402: after the line above

MIXED = sys.argv[1] == "mixed"
if not MIXED:
    torch.set_float32_matmul_precision("high")
for forward_only in (True,) if MIXED else (True, False):
    for context in (128, 256, 512):
        benchmark.run_memory_foward_fullstep(
            **benchmark.get_model_config("2.7b"), context_length=context, batch_size=4,
            vocab_size=10000, theta=10000, dtype=torch.bfloat16 if MIXED else torch.float32,
            model_size="2.7b", mixed_precision=MIXED, forward_only=forward_only)
