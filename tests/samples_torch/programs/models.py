"""Training loops that are not in ../../torch/programs/training.py, each a case: a convolutional net
fed by two workers of a DataLoader and evaluated after each epoch, a transformer encoder, an LSTM
language model that accumulates gradients. See test_phases.py for what is to be seen of each."""
import os
import sys

sys.path.insert(0, os.environ["TIDEMARK_TEST_PROGRAMS"])

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from common import Cases

case = Cases()


class Pictures(Dataset):
    """Noise, with a class that depends on its mean."""

    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        source = torch.Generator().manual_seed(self.seed + index)
        picture = torch.randn(1, 12, 12, generator=source)
        return picture, int(picture.mean() > 0)


def evaluate(net, loader):
    net.eval()
    right = torch.zeros(())
    with torch.no_grad():
        for pictures, classes in loader:
            right += (net(pictures).argmax(1) == classes).sum()
    net.train()
    return right


@case
def convolutional():
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 2))
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    train = DataLoader(Pictures(12, 100), batch_size=4, shuffle=True, num_workers=2)
    test = DataLoader(Pictures(8, 900), batch_size=4)
    for epoch in range(2):
        for pictures, classes in train:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(net(pictures), classes)
            loss.backward()
            optimizer.step()
        right = evaluate(net, test)
    return list(net.parameters()) + [loss, right]


class Classifier(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 2, 4 * width, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.to_class = nn.Linear(width, 3)

    def forward(self, text):
        return self.to_class(self.encoder(self.words(text)).mean(1))


@case
def transformer():
    net, loss_of = Classifier(20, 16), nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(net.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    for _ in range(3):
        text, classes = torch.randint(20, (4, 7)), torch.randint(3, (4,))
        loss = loss_of(net(text), classes)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return list(net.parameters()) + [loss]


class Language(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)
        self.to_word = nn.Linear(width, words)

    def forward(self, text, state=None):
        found, state = self.lstm(self.words(text), state)
        return self.to_word(found), state


@case
def language():
    """The state goes on from piece to piece of a text; a step is made of three pieces."""
    net, pieces = Language(20, 16), 3
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        state = None
        for _ in range(pieces):
            text = torch.randint(20, (4, 9))
            logits, state = net(text[:, :-1], state)
            state = tuple(part.detach() for part in state)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
            (loss / pieces).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return list(net.parameters()) + [loss]


if __name__ == "__main__":
    case.run()
