"""A language model of two LSTM layers: truncated backpropagation, hidden states that are carried on
and detached, clipping, plain SGD by hand, evaluation behind each epoch; a bidirectional GRU with
packed sequences beside it."""
import torch
from torch import nn

VOCABULARY, WIDTH, BATCH, WINDOW, WINDOWS, EPOCHS = 1000, 128, 16, 20, 3, 2


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, 2, dropout=0.2)
        self.out = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, words, state):
        output, state = self.lstm(self.drop(self.words(words)), state)
        return self.out(self.drop(output)), state


def windows(data):
    for at in range(0, WINDOW * WINDOWS, WINDOW):
        yield data[at:at + WINDOW], data[at + 1:at + 1 + WINDOW].flatten()


def epoch(model, criterion, data, training):
    state = tuple(torch.zeros(2, BATCH, WIDTH, device="cuda") for _ in range(2))
    total = 0.0
    model.train(training)
    for words, targets in windows(data):
        state = tuple(part.detach() for part in state)
        if training:
            model.zero_grad()
        output, state = model(words, state)
        loss = criterion(output.flatten(0, 1), targets)
        if training:
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for parameter in model.parameters():
                parameter.data.add_(parameter.grad, alpha=-0.1)
        total += loss.item()
    return total


def packed():
    """Lengths stay on the host, so they are what they are."""
    net = nn.GRU(WIDTH, WIDTH, bidirectional=True, batch_first=True).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    lengths = torch.tensor([9, 7, 4, 1])
    for _ in range(2):
        rows = nn.utils.rnn.pack_padded_sequence(
            torch.randn(4, 9, WIDTH, device="cuda"), lengths, batch_first=True)
        optimizer.zero_grad()
        output, _ = nn.utils.rnn.pad_packed_sequence(net(rows)[0], batch_first=True)
        output.sum().backward()
        optimizer.step()
    return tuple(output.shape)


def main():
    torch.manual_seed(1)
    data = torch.randint(0, VOCABULARY, (WINDOW * WINDOWS + 1, BATCH)).cuda()
    model, criterion = Words().cuda(), nn.CrossEntropyLoss()
    for number in range(EPOCHS):
        epoch(model, criterion, data, True)
        with torch.no_grad():
            print("epoch", number, "loss", epoch(model, criterion, data, False))
    print("packed", packed())


if __name__ == "__main__":
    main()
