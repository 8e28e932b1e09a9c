"""An encoder of nn.TransformerEncoderLayer under accelerate, four micro-batches to a step.

    tidemark record -- python3 accelerate_encoder.py
    tidemark peak
"""
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.checkpoint import checkpoint

from switches import DEVICE, in_place, parse


class Layer(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.checkpoint = options.checkpoint
        self.inner = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, dropout=0.0)

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False) if self.checkpoint else self.inner(x)


def main():
    options = parse(["checkpoint", "fused_optimizer", "half_precision", "autocast"],
                    steps=3, batch=8, accumulation=4)
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=DEVICE == "cpu",
                              mixed_precision="bf16" if options.autocast else "no",
                              gradient_accumulation_steps=options.accumulation)
    model = nn.Sequential(nn.Embedding(2000, 128), *[Layer(options) for _ in range(4)],
                          nn.Linear(128, 2000))
    in_place(options, model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=options.fused_optimizer)
    count = options.steps * options.accumulation * options.batch
    data = torch.utils.data.TensorDataset(torch.randint(0, 2000, (count, 64)))
    model, optimizer, loader = accelerator.prepare(
        model, optimizer, torch.utils.data.DataLoader(data, options.batch))
    for (words,) in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1),
                                               words[:, 1:].flatten())
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    print(float(loss))


main()
