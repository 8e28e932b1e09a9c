"""Hugging Face's Trainer on models made of their configurations, with data made up here.

    hf_trainer.py gpt2|llama|bert|t5|vit [--checkpointing]
"""
import sys

import torch
import transformers
from torch.utils.data import Dataset

STEPS, BATCH, LENGTH, VOCABULARY, IMAGE = 4, 4, 64, 1000, 64


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=128, n_layer=3, n_head=4))


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=128, intermediate_size=344, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=LENGTH))


def bert():
    return transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=128, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=512, max_position_embeddings=LENGTH, num_labels=3))


def t5():
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=VOCABULARY, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4,
        decoder_start_token_id=0))


def vit():
    return transformers.ViTForImageClassification(transformers.ViTConfig(
        image_size=IMAGE, patch_size=8, hidden_size=128, num_hidden_layers=3,
        num_attention_heads=4, intermediate_size=512, num_labels=10))


MODELS = {function.__name__: function for function in (gpt2, llama, bert, t5, vit)}


class MadeUp(Dataset):
    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return 64

    def __getitem__(self, index):
        draw = torch.Generator().manual_seed(index)
        if self.kind == "vit":
            return {"pixel_values": torch.randn(3, IMAGE, IMAGE, generator=draw),
                    "labels": index % 10}
        tokens = torch.randint(1, VOCABULARY, (LENGTH,), generator=draw)
        item = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
        item["labels"] = index % 3 if self.kind == "bert" else tokens
        return item


def main():
    kind = sys.argv[1]
    checkpointing = "--checkpointing" in sys.argv
    transformers.set_seed(1)
    arguments = transformers.TrainingArguments(
        output_dir="out", max_steps=STEPS, per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=BATCH, gradient_accumulation_steps=2, bf16=True,
        logging_steps=1, eval_strategy="steps", eval_steps=2, save_steps=STEPS, report_to=[],
        gradient_checkpointing=checkpointing, disable_tqdm=True)
    data = MadeUp(kind)
    trainer = transformers.Trainer(model=MODELS[kind](), args=arguments, train_dataset=data,
                                   eval_dataset=torch.utils.data.Subset(data, range(8)))
    result = trainer.train()
    print("trained", result.global_step, "steps")


if __name__ == "__main__":
    main()
