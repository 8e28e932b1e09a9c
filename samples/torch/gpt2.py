"""GPT-2 of transformers, 124 million weights and no data but random words, for three steps.

    tidemark rehearse --gpu rtx-4090 -- python3 gpt2.py 8      (a batch of 8; no GPU needed)
    tidemark peak
"""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel

device = "cuda" if torch.cuda.is_available() else "cpu"
batch = int(sys.argv[1]) if len(sys.argv) > 1 else 8
model = GPT2LMHeadModel(GPT2Config()).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(3):
    words = torch.randint(0, 50257, (batch, 512), device=device)
    loss = model(input_ids=words, labels=words).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("done")
