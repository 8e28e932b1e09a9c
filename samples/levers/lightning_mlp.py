"""A LightningModule with AdamW as it is made by default: the optimizer's step is the peak.

    tidemark record -- python3 lightning_mlp.py
    tidemark peak
"""
import lightning
import torch
from torch import nn

from switches import DEVICE, parse


class Model(lightning.LightningModule):
    def __init__(self, options):
        super().__init__()
        self.options = options
        self.net = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                                 nn.Linear(1024, 10))

    def training_step(self, batch, index):
        given, wanted = batch
        return nn.functional.cross_entropy(self.net(given), wanted)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), fused=self.options.fused_optimizer)


def main():
    options = parse(["fused_optimizer", "half_precision", "autocast"], steps=6, batch=64)
    lightning.seed_everything(0)
    given = torch.randn(options.steps * options.batch, 256)
    wanted = torch.randint(0, 10, (options.steps * options.batch,))
    data = torch.utils.data.TensorDataset(given, wanted)
    precision = "bf16-true" if options.half_precision else "bf16-mixed" if options.autocast else 32
    trainer = lightning.Trainer(max_epochs=1, accelerator=DEVICE, devices=1,
                                precision=precision, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False)
    trainer.fit(Model(options), torch.utils.data.DataLoader(data, options.batch))


main()
