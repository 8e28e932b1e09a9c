"""GPT-2 as transformers' Trainer trains it, two micro-batches to a step.

    tidemark record -- python3 hf_trainer.py
    tidemark peak
"""
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from switches import DEVICE, in_place, parse


class Text(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        words = torch.randint(0, 2000, (64,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": words, "labels": words}


def main():
    options = parse(["checkpoint", "fused_optimizer", "fused_operation", "half_precision", "autocast"],
                    steps=3, batch=8, accumulation=2)
    torch.manual_seed(0)
    model = in_place(options, GPT2LMHeadModel(GPT2Config(
        n_layer=4, n_head=4, n_embd=128, vocab_size=2000, n_positions=64,
        activation_function="gelu_pytorch_tanh" if options.fused_operation else "gelu_new")))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=options.batch, max_steps=options.steps,
            gradient_accumulation_steps=options.accumulation, report_to=[], use_cpu=DEVICE == "cpu",
            bf16=options.autocast, save_strategy="no", disable_tqdm=True,
            optim="adamw_torch_fused" if options.fused_optimizer else "adamw_torch",
            gradient_checkpointing=options.checkpoint,
            gradient_checkpointing_kwargs={"use_reentrant": False})
        Trainer(model, arguments, train_dataset=Text()).train()


main()
