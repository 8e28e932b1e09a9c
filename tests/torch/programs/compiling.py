"""torch.compile in every way in which a program can ask for it. The backend counts graphs and runs
them as they are: what is compared is what is captured."""
import torch
import torch._dynamo
from torch import nn
from torch._dynamo.testing import CompileCounter

from common import digest, mark


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 3)

    def forward(self, x):
        return self.two(self.one(x))


def model(net, step, backend):
    return torch.compile(net, backend=backend, fullgraph=True), step


def in_place(net, step, backend):
    net.compile(backend=backend, fullgraph=True)
    return net, step


def function(net, step, backend):
    return torch.compile(lambda x: net(x), backend=backend, fullgraph=True), step


def whole_step(net, step, backend):
    return net, torch.compile(step, backend=backend)


def run(way):
    torch._dynamo.reset()
    torch.manual_seed(3)
    counter, net, loss = CompileCounter(), Net(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters())

    def step(forward, x, y):
        optimizer.zero_grad()
        value = loss(forward(x), y)
        value.backward()
        optimizer.step()
        return value

    forward, step = way(net, step, counter)
    mark("case " + way.__name__)
    for _ in range(3):
        value = step(forward, torch.randn(5, 6), torch.randint(0, 3, (5,)))
    mark("end")
    print(way.__name__, counter.frame_count, counter.op_count, digest(value, *net.parameters()))


if __name__ == "__main__":
    for way in (model, in_place, function, whole_step):
        run(way)
    torch._dynamo.reset()
    print("breaks", torch._dynamo.explain(Net())(torch.randn(5, 6)).graph_break_count)
    exported = torch.export.export(Net(), (torch.randn(5, 6),))
    print("exported", sorted(node.op for node in exported.graph.nodes))
