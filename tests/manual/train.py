"""The training program of the examples: a small GRU with PyTorch, where EXAMPLES_TORCH asks for it and it
can be imported; else the C sample, which reports what such a model would need."""
import os

try:
    if not os.environ.get("EXAMPLES_TORCH"):
        raise ImportError("a second of work, which one page in ten is enough for")
    import torch
except ImportError:
    os.execvp("seq2seq", ["seq2seq", "--batch=4", "--length=8", "--vocab=1000", "--steps=6"])

torch.manual_seed(0)
torch.set_num_threads(1)
words, width = 1000, 64
embed = torch.nn.Embedding(words, width)
gru = torch.nn.GRU(width, width)
head = torch.nn.Linear(width, words)
parameters = [*embed.parameters(), *gru.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters)
for step in range(6):
    text = torch.randint(words, (16, 8))
    optimizer.zero_grad()
    states, _ = gru(embed(text))
    loss = torch.nn.functional.cross_entropy(head(states).view(-1, words), text.view(-1))
    loss.backward()
    optimizer.step()
