"""fp16 with a GradScaler: a convolutional network, channels_last, SGD with momentum, and a loop that
looks at what the scaler did."""
import torch
from torch import nn
from torch.nn import functional as F

STEPS, BATCH = 5, 16


def block(into, out):
    return nn.Sequential(nn.Conv2d(into, out, 3, padding=1, bias=False), nn.BatchNorm2d(out),
                         nn.ReLU(inplace=True), nn.MaxPool2d(2))


def main():
    torch.manual_seed(1)
    model = nn.Sequential(block(3, 32), block(32, 64), block(64, 128), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(128, 10))
    model = model.to("cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scaler = torch.amp.GradScaler("cuda")
    for step in range(STEPS):
        images = torch.randn(BATCH, 3, 32, 32).to("cuda", memory_format=torch.channels_last)
        labels = torch.randint(0, 10, (BATCH,)).cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        print("step", step, "loss", loss.item(), "scale", scaler.get_scale())


if __name__ == "__main__":
    main()
