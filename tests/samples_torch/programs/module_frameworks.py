"""Programs as they are written with the frameworks, with the second count of module_truth.py: gpt2 and
llama (transformers), lightning, nanogpt (the form of that program, nothing of its text), fsdp2."""
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
        y = F.scaled_dot_product_attention(*parts, dropout_p=0.1, is_causal=True)
        return self.dropout(self.out(y.transpose(1, 2).contiguous().view(BATCH, LENGTH, WIDTH)))


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


torch.manual_seed(0)
{"gpt2": gpt2, "llama": llama, "lightning": lightning, "nanogpt": nanogpt,
 "fsdp2": fsdp2}[sys.argv[1]](*sys.argv[2:])
