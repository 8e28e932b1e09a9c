"""Programs whose tensors have known addresses: those are printed, as JSON, at the moments when the
recording is told about them."""
import json
import sys

import torch
from torch import nn

from common import mark

said = {}


def place(tensor):
    return [tensor.data_ptr(), tensor.numel() * tensor.element_size()]


def tell(moment, **places):
    said[moment] = {name: place(tensor) for name, tensor in places.items()}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)

    def forward(self, x):
        return self.last(self.norm(self.first(x)))


def adam():
    """Gradients to None: they are new blocks in each step."""
    net, loss = Net(), nn.MSELoss()
    optimizer = torch.optim.Adam(net.parameters())
    mark("case adam")
    for i in range(3):
        x, y = torch.randn(3, 4), torch.randn(3, 2)
        optimizer.zero_grad(set_to_none=True)
        value = loss(net(x), y)
        value.backward()
        if i == 1:
            weight = net.first.weight
            tell("adam", weight=weight, grad=weight.grad, x=x, y=y, mean=net.norm.running_mean)
        optimizer.step()
        if i == 1:
            tell("adam state", exp_avg=optimizer.state[weight]["exp_avg"])
        mark("step", i)
    net.eval()
    with torch.no_grad():
        batch = torch.randn(5, 4)
        net(batch)
    tell("evaluation", batch=batch)
    mark("end")


def steady():
    """Gradients stay where they are: nothing needs to be said twice."""
    net = nn.Sequential(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(3, 4)
    for i in range(4):
        optimizer.zero_grad(set_to_none=False)
        net(x).sum().backward()
        if i == 3:
            mark("case steady")
        optimizer.step()
    mark("end")


def two_models():
    """The same names twice."""
    nets = [nn.Sequential(nn.Linear(4, 4)), nn.Sequential(nn.Linear(4, 4))]
    optimizer = torch.optim.SGD([p for net in nets for p in net.parameters()], lr=0.1)
    mark("case two models")
    nets[1](nets[0](torch.randn(3, 4))).sum().backward()
    optimizer.step()
    mark("end")


def sparse():
    table = nn.Embedding(50, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(list(table.parameters()))
    mark("case sparse")
    table(torch.tensor([1, 4])).sum().backward()
    tell("sparse", values=table.weight.grad._values())
    optimizer.step()
    mark("end")


class Wrapped(torch.Tensor):
    """As DTensor: a tensor without memory of its own, around one that has."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    def __tensor_flatten__(self):
        return ["inner"], None

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def bare(value):
            if isinstance(value, (list, tuple)):
                return type(value)(bare(one) for one in value)
            return value.inner if isinstance(value, cls) else value

        result = function(*bare(args), **{k: bare(v) for k, v in (kwargs or {}).items()})
        return Wrapped(result) if isinstance(result, torch.Tensor) else result


def wrapped():
    weight = Wrapped(torch.randn(4, 7)).requires_grad_()
    empty = torch.empty(0, requires_grad=True)
    optimizer = torch.optim.SGD([weight, empty], lr=0.1, momentum=0.9)
    weight.grad = Wrapped(torch.randn(4, 7))
    mark("case wrapped")
    optimizer.step()
    tell("wrapped", weight=weight.inner, grad=weight.grad.inner,
         momentum=optimizer.state[weight]["momentum_buffer"].inner)
    mark("end")
    wrapped.optimizer = optimizer  # no other one gets its lists, whose places have no names


def lbfgs():
    net = nn.Sequential(nn.Linear(4, 1))
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
    x = torch.randn(3, 4)

    def closure():
        optimizer.zero_grad()
        value = net(x).pow(2).sum()
        value.backward()
        return value

    optimizer.step(closure)
    mark("case lbfgs")
    optimizer.step(closure)
    state = optimizer.state[net[0].weight]
    tell("lbfgs", d=state["d"], old=state["old_dirs"][-1], grad=net[0].weight.grad)
    mark("end")


def moved():
    """The same parameters at other addresses."""
    net = nn.Sequential(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(3, 4)
    for i in range(2):
        net(x.to(net[0].weight.dtype)).sum().backward()
        mark("case moved %d" % i)
        optimizer.step()
        mark("end")
        tell("moved %d" % i, weight=net[0].weight)
        net.double()


def replaced():
    """A frozen layer whose weight becomes another parameter between two steps."""
    frozen, free = nn.Linear(4, 4), nn.Linear(4, 2)
    net = nn.Sequential(frozen.requires_grad_(False), free)
    optimizer = torch.optim.SGD(free.parameters(), lr=0.1)
    mark("case replaced")
    for i in range(2):
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
        tell("replaced %d" % i, weight=frozen.weight)
        frozen.weight = nn.Parameter(torch.zeros(4, 4), requires_grad=False)
    net(torch.randn(3, 4))
    tell("replaced 2", weight=frozen.weight)
    mark("end")


def without_gradient():
    """A parameter that has a gradient in the first step only."""
    net = nn.Sequential(nn.Linear(4, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.randn(3, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    optimizer.step()


def resized():
    """An optimizer that gets a second group of parameters, and then loses its first."""
    first, second = nn.Linear(4, 4), nn.Linear(4, 2)
    optimizer = torch.optim.SGD(first.parameters(), lr=0.1, momentum=0.9)
    for i in range(3):
        if i == 1:
            optimizer.add_param_group({"params": list(second.parameters())})
        if i == 2:
            del optimizer.param_groups[0]
        optimizer.zero_grad(set_to_none=True)
        second(first(torch.randn(3, 4))).sum().backward()
        mark("case resized %d" % i)
        optimizer.step()
        mark("end")
        tell("resized %d" % i, first=first.weight, second=second.weight,
             momentum=optimizer.state[second.weight if i else first.weight]["momentum_buffer"])


def by_hand():
    tensor = torch.zeros(10, 10)
    tell("by hand", tensor=tensor)
    mark("case by hand")
    try:
        import tidemark
    except ImportError:
        return
    tidemark.tag(tensor, "activation", "scores")
    with tidemark.phase("outer"):
        with tidemark.phase("inner"):
            pass
        try:
            with tidemark.phase("fails"):
                raise ValueError
        except ValueError:
            pass

    @tidemark.phase("decorated")
    def decorated(a, b=2):
        return a + b

    assert decorated(1) == 3 and decorated.__name__ == "decorated"
    tidemark.step(41)
    tidemark.mark("value", -5)
    mark("end")


if __name__ == "__main__":
    for case in (adam, steady, two_models, sparse, wrapped, lbfgs, moved, replaced,
                 without_gradient, resized, by_hand):
        case()
    json.dump(said, sys.stdout)
