"""The programs that are rehearsed, and what is known of each beforehand."""

TRAINING = frozenset(("forward", "backward", "optimizer"))
EXPANDABLE = "expandable_segments:True"


class Case(object):
    """One program. `steps`: how many its recording has in each process; `said`: what its output ends
    with; `needs`: modules beside torch; `ranks`: torchrun starts so many, each with a GPU."""

    def __init__(self, program, *arguments, steps, said, options=(), environment=None, needs=(),
                 ranks=0, phases=TRAINING):
        self.program, self.arguments, self.options = program, arguments, list(options)
        self.environment, self.needs, self.ranks = environment or {}, needs, ranks
        self.steps, self.said, self.phases = steps, said, phases


def gpt(*arguments, **more):
    return Case("gpt.py", *arguments, steps=6, said="step 5 loss 0.0", **more)


def trainer(model):
    return Case("hf_trainer.py", model, steps=4, said="trained 4 steps",
                needs=("transformers", "accelerate"), phases=TRAINING | {"eval"})


CASES = {
    "gpt": gpt(phases=TRAINING | {"eval", "zero_grad"}),
    "gpt_history": gpt("--dtype", "float32", options=["--history"]),
    "expandable_segments": gpt(environment={"PYTORCH_CUDA_ALLOC_CONF": EXPANDABLE}),
    "expandable_segments_history": gpt("--dtype", "float16", options=["--history"],
                                       environment={"PYTORCH_ALLOC_CONF": EXPANDABLE}),
    "compile": gpt("--compile"),
    "amp": Case("amp.py", steps=5, said="step 4 loss 0.0 scale 0.0"),
    "checkpoint_reentrant": Case("checkpointed.py", "reentrant", steps=4, said="step 3 loss 0.0",
                                 phases=TRAINING | {"recompute"}),
    "checkpoint": Case("checkpointed.py", "not", steps=4, said="step 3 loss 0.0",
                       phases=TRAINING | {"recompute"}),
    "graphs": Case("graphs.py", steps=10, said="parts 0.0"),
    "lstm": Case("lstm.py", steps=2, said="packed (4, 9, 256)", phases=TRAINING | {"eval"}),
    "unet": Case("unet.py", steps=5, said="step 4 loss 0.0"),
    "unet_diffusers": Case("unet.py", "--diffusers", steps=5, said="step 4 loss 0.0",
                           needs=("diffusers",)),
    "trainer_gpt2": trainer("gpt2"),
    "trainer_llama": trainer("llama"),
    "trainer_bert": trainer("bert"),
    "trainer_t5": trainer("t5"),
    "trainer_vit": trainer("vit"),
    "lightning": Case("lightning_fit.py", steps=6, said="trained 6 steps", needs=("lightning",),
                      phases=TRAINING | {"eval"}),
    "ddp": Case("ddp.py", steps=5, said="step 4 loss 0.0", ranks=2),
    "fsdp2": Case("fsdp2.py", steps=4, said="step 3 loss 0.0", ranks=2),
}
