"""A small Llama with a large vocabulary: its logits weigh more than its layers.

    tidemark record -- python3 llama.py
    tidemark peak
"""
import torch
from torch.utils.checkpoint import checkpoint
from transformers import LlamaConfig, LlamaForCausalLM

from switches import DEVICE, autocast, in_place, parse


def lora(model, rank):
    """Weights stay as they are; a small matrix beside each projection of queries and values is
    trained."""
    for weight in model.parameters():
        weight.requires_grad_(False)
    for layer in model.model.layers:
        for name in ("q_proj", "v_proj"):
            setattr(layer.self_attn, name, Adapted(getattr(layer.self_attn, name), rank))


class Adapted(torch.nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.down = torch.nn.Linear(base.in_features, rank, bias=False)
        self.up = torch.nn.Linear(rank, base.out_features, bias=False)
        torch.nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def chunked_loss(model, words):
    """As transformers computes it, an eighth of the rows at a time, and again in backward."""
    hidden = model.model(input_ids=words).last_hidden_state[:, :-1].flatten(0, 1)
    wanted = words[:, 1:].flatten()

    def loss_of(rows, answers):
        return torch.nn.functional.cross_entropy(model.lm_head(rows), answers, reduction="sum")

    parts = [checkpoint(loss_of, *part, use_reentrant=False)
             for part in zip(hidden.chunk(8), wanted.chunk(8))]
    return sum(parts) / len(wanted)


def main():
    options = parse(["checkpoint", "fused_optimizer", "drop_held", "chunked_loss",
                     "half_precision", "autocast"],
                    steps=3, batch=8, length=64, words=4000, layers=4, rank=0)
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        num_hidden_layers=options.layers, num_attention_heads=4, num_key_value_heads=4,
        hidden_size=128, intermediate_size=344, vocab_size=options.words, use_cache=False))
    if options.rank:
        lora(model, options.rank)
    in_place(options, model)
    if options.checkpoint:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, fused=options.fused_optimizer)
    model.train()
    for step in range(options.steps):
        words = torch.randint(0, options.words, (options.batch, options.length), device=DEVICE)
        if options.chunked_loss:
            loss = chunked_loss(model, words)
        else:
            with autocast(options):
                answer = model(input_ids=words, labels=words)
            loss = answer.loss
            if options.drop_held:
                del answer
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, float(loss))


main()
