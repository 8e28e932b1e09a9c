"""BERT on batches of varying length: the longest makes the peak.

    tidemark record -- python3 bert.py
    tidemark peak
"""
import torch
from transformers import BertConfig, BertForMaskedLM

from switches import DEVICE, autocast, in_place, parse


def main():
    options = parse(["checkpoint", "zero_grad_earlier", "fused_optimizer", "half_precision",
                     "autocast"], steps=5, batch=8)
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig(
        hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512,
        vocab_size=1000, max_position_embeddings=128)).train()
    in_place(options, model)
    if options.checkpoint:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), fused=options.fused_optimizer)
    for step in range(options.steps):
        words = torch.randint(0, 1000, (options.batch, [24, 64, 32, 96, 40][step % 5]),
                              device=DEVICE)
        with autocast(options):
            loss = model(input_ids=words, labels=words).loss
        if not options.zero_grad_earlier:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if options.zero_grad_earlier:
            optimizer.zero_grad()
        print(step, float(loss))


main()
