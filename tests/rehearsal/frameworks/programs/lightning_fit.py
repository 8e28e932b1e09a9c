"""Lightning's Trainer: a convolutional classifier with a validation loop, mixed precision, a
checkpoint, and workers that load."""
import lightning
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

STEPS = 6


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        images, labels = batch
        loss = F.cross_entropy(self(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        images, labels = batch
        self.log("val_loss", F.cross_entropy(self(images), labels))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)]


def loader(count):
    data = TensorDataset(torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,)))
    return DataLoader(data, batch_size=16, num_workers=1, pin_memory=True)


def main():
    lightning.seed_everything(1)
    trainer = lightning.Trainer(
        accelerator="gpu", devices=1, max_steps=STEPS, precision="bf16-mixed",
        gradient_clip_val=1.0, logger=False, enable_progress_bar=False, default_root_dir="out",
        log_every_n_steps=1)
    trainer.fit(Classifier(), loader(16 * 3), loader(16 * 2))
    print("trained", trainer.global_step, "steps")


if __name__ == "__main__":
    main()
