"""Programs as they are written with the frameworks, with the second count of module_truth.py: gpt2 and
llama (transformers), lightning, nanogpt (the form of that program, nothing of its text), fsdp2; and with
torch alone what gpt2 and llama are made of: plain_gpt2, plain_llama."""
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from module_truth import Truth  # noqa: E402

STEPS, BATCH, LENGTH, VOCAB, WIDTH, LAYERS, HEADS = 4, 4, 64, 2000, 128, 3, 4


def tokens():
    return torch.randint(0, VOCAB, (BATCH, LENGTH))


def train(truth, model, loss_of, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss_of(model).backward()
        truth.over()
        optimizer.step()
        optimizer.zero_grad()
    truth.tell()


def with_labels(model):
    ids = tokens()
    return model(input_ids=ids, labels=ids).loss


def gpt2(*words):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=LENGTH, n_embd=WIDTH,
                                       n_layer=LAYERS, n_head=HEADS))
    if "checkpoint" in words:
        model.gradient_checkpointing_enable()
    train(Truth(model), model.train(), with_labels)


def llama(*words):
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCAB, hidden_size=WIDTH, intermediate_size=344,
                                         num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                                         num_key_value_heads=2, max_position_embeddings=LENGTH))
    if "checkpoint" in words:
        model.gradient_checkpointing_enable()
    train(Truth(model), model.train(), with_labels)


def lightning(*words):
    import lightning as L

    class Task(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = NanoGPT()

        def training_step(self, ids, index):
            return self.net(ids)

        def on_after_backward(self):
            truth.over()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    task = Task()
    truth = Truth(task.net)
    trainer = L.Trainer(max_steps=STEPS, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    batches = torch.utils.data.DataLoader(torch.cat([tokens() for _ in range(STEPS)]), BATCH)
    trainer.fit(task, batches)
    truth.tell()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.joined = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        parts = [one.view(BATCH, LENGTH, HEADS, -1).transpose(1, 2)
                 for one in self.joined(x).split(WIDTH, dim=2)]
        y = self.attend(*parts)
        return self.dropout(self.out(y.transpose(1, 2).contiguous().view(BATCH, LENGTH, WIDTH)))

    def attend(self, q, k, v):
        if hasattr(F, "scaled_dot_product_attention"):  # from 2.0 on
            return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        weights = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        return F.dropout(F.softmax(weights.masked_fill(hidden, float("-inf")), dim=-1), 0.1) @ v


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class NanoGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(
            words=nn.Embedding(VOCAB, WIDTH), places=nn.Embedding(LENGTH, WIDTH),
            dropout=nn.Dropout(0.1), blocks=nn.ModuleList([Block() for _ in range(LAYERS)]),
            norm=nn.LayerNorm(WIDTH)))
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)
        self.transformer.words.weight = self.head.weight

    def forward(self, ids):
        parts = self.transformer
        x = parts.dropout(parts.words(ids) + parts.places(torch.arange(ids.shape[1])))
        for block in parts.blocks:
            x = block(x)
        logits = self.head(parts.norm(x))
        return F.cross_entropy(logits.view(-1, VOCAB), ids.view(-1), ignore_index=-1)


def nanogpt(*words):
    """Four micro-batches a step, as the program has it."""
    model = NanoGPT()
    truth = Truth(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        for _ in range(4):
            (model(tokens()) / 4).backward()
            truth.over()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    truth.tell()


def fsdp2(*words):
    import torch.distributed as distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", RANK="0", WORLD_SIZE="1")
    distributed.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (1,))
    model = NanoGPT()
    model.transformer.words.weight = nn.Parameter(model.head.weight.detach().clone())
    for block in model.transformer.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(Truth(model), model, lambda model: model(tokens()))
    distributed.destroy_process_group()


class PlainAttention(nn.Module):
    """By softmax, with a mask that is a buffer; `self` is in a cell."""

    def __init__(self):
        super().__init__()
        self.joined, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("mask", torch.ones(LENGTH, LENGTH).tril().view(1, 1, LENGTH, LENGTH))

    def forward(self, x):
        def heads(one):
            return one.view(*x.shape[:2], self.heads(), -1).transpose(1, 2)

        q, k, v = [heads(one) for one in self.joined(x).split(WIDTH, dim=2)]
        weights = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = weights.masked_fill(self.mask[:, :, :x.shape[1], :x.shape[1]] == 0, float("-inf"))
        y = self.dropout(F.softmax(weights, dim=-1)) @ v
        return self.dropout(self.out(y.transpose(1, 2).reshape(x.shape)))

    def heads(self):
        return HEADS


class NewGelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * torch.pow(x, 3.0))))


class PlainGPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCAB, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.h = nn.ModuleList([self.layer() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)
        self.head.weight = self.words.weight

    def layer(self):
        return nn.ModuleDict(dict(
            norm1=nn.LayerNorm(WIDTH), attention=PlainAttention(), norm2=nn.LayerNorm(WIDTH),
            mlp=nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), NewGelu(), nn.Linear(4 * WIDTH, WIDTH))))

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for layer in self.h:
            x = x + layer["attention"](layer["norm1"](x))
            x = x + layer["mlp"](layer["norm2"](x))
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), ids[:, 1:].reshape(-1))


class RootNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        size = WIDTH // HEADS
        self.register_buffer("steps", 10000.0 ** (-torch.arange(0, size, 2) / size))

    @torch.no_grad()
    def forward(self, x):
        angles = torch.outer(torch.arange(x.shape[1]).float(), self.steps)
        both = torch.cat([angles, angles], dim=-1)
        return both.cos(), both.sin()


class PlainLlamaAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH // 2, bias=False)
        self.v, self.o = nn.Linear(WIDTH, WIDTH // 2, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, turns):
        def heads(one, count):
            return one.view(*x.shape[:2], count, -1).transpose(1, 2)

        def turned(one):
            left, right = one.chunk(2, dim=-1)
            return one * turns[0] + torch.cat([-right, left], dim=-1) * turns[1]

        q, k = turned(heads(self.q(x), HEADS)), turned(heads(self.k(x), HEADS // 2))
        k, v = [one.repeat_interleave(2, dim=1) for one in (k, heads(self.v(x), HEADS // 2))]
        weights = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        weights = weights + torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
        y = F.softmax(weights, dim=-1, dtype=torch.float32).to(q.dtype) @ v
        return self.o(y.transpose(1, 2).reshape(x.shape))


class PlainLlamaMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, 344, bias=False), nn.Linear(WIDTH, 344, bias=False)
        self.down, self.act = nn.Linear(344, WIDTH, bias=False), nn.SiLU()

    def forward(self, x):
        return self.down(self.act(self.gate(x)) * self.up(x))


class PlainLlamaLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = RootNorm(), RootNorm()
        self.attention, self.mlp = PlainLlamaAttention(), PlainLlamaMlp()

    def forward(self, x, *, turns):
        x = x + self.attention(self.norm1(x), turns)
        return x + self.mlp(self.norm2(x))


class PlainLlama(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.turns = nn.Embedding(VOCAB, WIDTH), Rotary()
        self.layers = nn.ModuleList([PlainLlamaLayer() for _ in range(LAYERS)])
        self.norm, self.head = RootNorm(), nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, ids):
        x = self.words(ids)
        turns = self.turns(x)
        for layer in self.layers:
            x = layer(x, turns=turns)
        return F.cross_entropy(self.head(self.norm(x))[:, :-1].reshape(-1, VOCAB),
                               ids[:, 1:].reshape(-1))


def plain_gpt2(*words):
    model = PlainGPT2()
    train(Truth(model), model, lambda model: model(tokens()))


def plain_llama(*words):
    model = PlainLlama()
    train(Truth(model), model, lambda model: model(tokens()))


torch.manual_seed(0)
{"plain_gpt2": plain_gpt2, "plain_llama": plain_llama, "gpt2": gpt2, "llama": llama, "lightning": lightning, "nanogpt": nanogpt,
 "fsdp2": fsdp2}[sys.argv[1]](*sys.argv[2:])
