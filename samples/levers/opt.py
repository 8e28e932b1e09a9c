"""OPT as transformers builds it by default: its answer holds a cache of keys and values, which
training has no use for.

    tidemark record -- python3 opt.py
    tidemark peak
"""
import torch
from transformers import OPTConfig, OPTForCausalLM

from switches import DEVICE, autocast, in_place, parse, step_in_backward


def main():
    options = parse(["checkpoint", "no_cache", "drop_held", "half_batch", "eight_bit_states",
                     "optimizer_in_backward", "half_precision", "autocast"],
                    steps=3, batch=8, length=96, words=3000)
    torch.manual_seed(0)
    model = OPTForCausalLM(OPTConfig(
        vocab_size=options.words, hidden_size=192, word_embed_proj_dim=192, num_hidden_layers=4,
        ffn_dim=768, num_attention_heads=6, max_position_embeddings=128)).train()
    model.config.use_cache = not options.no_cache
    in_place(options, model)
    if options.checkpoint:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters())
    if options.eight_bit_states:
        from bitsandbytes.optim import AdamW8bit
        optimizer = AdamW8bit(model.parameters())
    if options.optimizer_in_backward:
        step_in_backward(model, torch.optim.AdamW)
    parts = 2 if options.half_batch else 1
    for step in range(options.steps):
        for _ in range(parts):
            words = torch.randint(0, options.words, (options.batch // parts, options.length),
                                  device=DEVICE)
            with autocast(options):
                answer = model(input_ids=words, labels=words)
            loss = answer.loss / parts
            if options.drop_held:
                del answer
            loss.backward()
        if not options.optimizer_in_backward:
            optimizer.step()
        optimizer.zero_grad()
        print(step, float(loss))


main()
