"""Two models of transformers in one program, each with an optimizer of its own, and zero_grad between
forward and backward, as many loops have it.

    tidemark record -- python3 t5_vit.py
    tidemark peak
"""
import torch
from transformers import (T5Config, T5ForConditionalGeneration, ViTConfig,
                          ViTForImageClassification)

from switches import DEVICE, autocast, in_place, kind, parse


def build(options):
    text = T5ForConditionalGeneration(T5Config(
        d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4, vocab_size=1000,
        decoder_start_token_id=0, dropout_rate=0.0)).train()
    images = ViTForImageClassification(ViTConfig(
        hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256,
        image_size=64, patch_size=8, num_labels=10)).train()
    for model in (text, images):
        in_place(options, model)
    if options.checkpoint:
        for model in (text, images):
            model.gradient_checkpointing_enable({"use_reentrant": False})
    return text, images


def train(optimizer, options, loss_of):
    with autocast(options):
        loss = loss_of()
    if not options.zero_grad_earlier:
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if options.zero_grad_earlier:
        optimizer.zero_grad()
    return float(loss)


def main():
    options = parse(["checkpoint", "zero_grad_earlier", "fused_optimizer", "half_precision",
                     "autocast"], steps=3, batch=8)
    torch.manual_seed(0)
    text, images = build(options)
    of_text = torch.optim.AdamW(text.parameters(), fused=options.fused_optimizer)
    of_images = torch.optim.AdamW(images.parameters(), fused=options.fused_optimizer)
    for step in range(options.steps):
        words = torch.randint(0, 1000, (options.batch, 64), device=DEVICE)
        loss = train(of_text, options,
                     lambda: text(input_ids=words, labels=words[:, :32].contiguous()).loss)
        pixels = torch.randn(options.batch, 3, 64, 64, dtype=kind(options), device=DEVICE)
        kinds = torch.randint(0, 10, (options.batch,), device=DEVICE)
        print(step, loss, train(of_images, options,
                                lambda: images(pixel_values=pixels, labels=kinds).loss))


main()
