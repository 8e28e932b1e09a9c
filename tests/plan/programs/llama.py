"""A Llama of Hugging Face's transformers, made from its configuration: llama.py BATCH. bf16, AdamW;
it never ends by itself."""
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

BATCH, LENGTH = int(sys.argv[1]), 512


def main():
    config = LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=2816,
                         num_hidden_layers=16, num_attention_heads=16, num_key_value_heads=4)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    model.train()
    while True:
        text = torch.randint(config.vocab_size, (BATCH, LENGTH)).cuda()
        loss = model(input_ids=text, labels=text).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
