"""CUDA graphs: a whole step that is captured after some on a side stream, and replayed; and parts of
a model made into graphs by make_graphed_callables."""
import torch
from torch import nn

STEPS, WARM, BATCH, WIDTH = 6, 3, 32, 256


def net():
    return nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)).cuda()


def one_step(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def whole():
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    x, y = (torch.randn(BATCH, WIDTH, device="cuda") for _ in range(2))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM):
            one_step(model, optimizer, x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = one_step(model, optimizer, x, y)
    for step in range(STEPS):
        x.copy_(torch.randn(BATCH, WIDTH))
        graph.replay()
        print("step", step, "loss", loss.item())


def parts():
    first, second = net(), net()
    x = torch.randn(BATCH, WIDTH, device="cuda", requires_grad=True)
    first = torch.cuda.make_graphed_callables(first, (x,))
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = second(first(torch.randn(BATCH, WIDTH, device="cuda"))).square().mean()
        loss.backward()
        optimizer.step()
    print("parts", loss.item())


def main():
    torch.manual_seed(1)
    whole()
    torch.cuda.empty_cache()
    parts()


if __name__ == "__main__":
    main()
