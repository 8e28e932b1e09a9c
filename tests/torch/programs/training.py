"""Small training loops, one for each shape that real ones have. See test_marks.py for what is to
be seen of each."""
import collections
import copy
import pickle
import sys
import threading
import warnings

import torch
import torch.fx
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

from common import Cases

case = Cases()
STEPS = 2


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def data():
    return torch.randn(5, 6), torch.randint(0, 3, (5,))


def train(net, optimizer, steps=STEPS, loss=nn.CrossEntropyLoss()):
    for _ in range(steps):
        x, y = data()
        optimizer.zero_grad()
        value = loss(net(x), y)
        value.backward()
        optimizer.step()
    return list(net.parameters()) + [value]


@case
def plain():
    net = mlp()
    return train(net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9))


@case
def seq2seq():
    encoder, decoder = nn.GRU(4, 6, batch_first=True), nn.GRUCell(4, 6)
    out, loss = nn.Linear(6, 4), nn.MSELoss()
    parts = nn.ModuleList([encoder, decoder, out])
    optimizer = torch.optim.Adam(parts.parameters())
    for _ in range(STEPS):
        x, y = torch.randn(2, 3, 4), torch.randn(2, 2, 4)
        parts.zero_grad()
        _, hidden = encoder(x)
        state, step, total = hidden[0], torch.zeros(2, 4), 0
        for t in range(2):
            state = decoder(step, state)
            step = out(state)
            total = total + loss(step, y[:, t])
        total.backward()
        optimizer.step()
    return list(parts.parameters()) + [total]


@case
def gan():
    maker, judge = nn.Linear(3, 6), nn.Linear(6, 1)
    make, rate = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    loss = nn.BCEWithLogitsLoss()
    for _ in range(STEPS):
        rate.zero_grad()
        fake = maker(torch.randn(4, 3))
        real = loss(judge(torch.randn(4, 6)), torch.ones(4, 1))
        (real + loss(judge(fake.detach()), torch.zeros(4, 1))).backward()
        rate.step()
        make.zero_grad()
        loss(judge(fake), torch.ones(4, 1)).backward()
        make.step()
    return list(maker.parameters()) + list(judge.parameters())


@case
def accumulation():
    net, loss = mlp(), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(STEPS):
        for _ in range(2):
            x, y = data()
            (loss(net(x), y) / 2).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return list(net.parameters())


@case
def evaluation():
    net, loss = mlp(), nn.CrossEntropyLoss()
    results = train(net, torch.optim.SGD(net.parameters(), lr=0.1), steps=1)
    net.eval()
    x, y = data()
    with torch.no_grad():
        results.append(loss(net(x), y))
    results.append(net(x))
    with torch.inference_mode():
        results.append(net(x).clone())
    net.train()
    return results


@case
def lbfgs():
    net, loss = mlp(), nn.CrossEntropyLoss()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=2)
    for _ in range(STEPS):
        x, y = data()

        def closure():
            optimizer.zero_grad()
            value = loss(net(x), y)
            value.backward()
            return value

        optimizer.step(closure)
    return list(net.parameters())


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.first, self.second, self.reentrant = nn.Linear(6, 6), nn.Linear(6, 3), reentrant

    def forward(self, x):
        return self.second(checkpoint(self.first, x, use_reentrant=self.reentrant))


def checkpointed(reentrant):
    net, loss = Checkpointed(reentrant), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(STEPS):
        x, y = data()
        optimizer.zero_grad()
        loss(net(x.requires_grad_()), y).backward()
        optimizer.step()
    return list(net.parameters())


@case
def checkpoint_reentrant():
    return checkpointed(True)


@case
def checkpoint_hooks():
    return checkpointed(False)


@case
def checkpoint_outside():
    net, loss = mlp(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = data()
    optimizer.zero_grad()
    loss(checkpoint(net, x.requires_grad_(), use_reentrant=True), y).backward()
    optimizer.step()
    return list(net.parameters())


# Elsewhere, and with a warning here, from 2.4 on.
Scaler = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)


class Skipping(Scaler):
    """Without CUDA, and with an infinity in every second step."""

    def __init__(self):
        super().__init__(enabled=False)
        self.count = 0
        self._enabled = True
        self._per_optimizer_states = collections.defaultdict(
            lambda: {"stage": None, "found_inf_per_device": {"cpu": 0}}
        )

    def scale(self, value):
        return value

    def _check_scale_growth_tracker(self, name):
        return None, None

    def _maybe_opt_step(self, optimizer, state, *args, **kwargs):
        self.count += 1
        return optimizer.step() if self.count % 2 else None

    def update(self, scale=None):
        self._per_optimizer_states.clear()


def scaled(scaler):
    net, loss = mlp(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(STEPS):
        x, y = data()
        optimizer.zero_grad()
        scaler.scale(loss(net(x), y)).backward()
        scaler.step(optimizer)
        scaler.update()
    return list(net.parameters())


@case
def scaler_disabled():
    return scaled(Scaler(enabled=False))


@case
def scaler_skipping():
    return scaled(Skipping())


class Wrong(Exception):
    pass


class Raising(nn.Module):
    def __init__(self, what):
        super().__init__()
        self.inner, self.what = nn.Linear(6, 3), what

    def forward(self, x):
        result = self.inner(x)
        if self.what is not None:
            raise self.what
        return result


class RaisingLoss(nn.CrossEntropyLoss):
    def forward(self, x, y):
        raise Wrong


class RaisingGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise Wrong


class RaisingStep(torch.optim.SGD):
    def step(self, closure=None):
        raise Wrong


def attempt(net, loss, optimizer, wanted, through=lambda x: x):
    x, y = data()
    try:
        optimizer.zero_grad()
        loss(through(net(x)), y).backward()
        optimizer.step()
    except wanted:
        return
    raise AssertionError("nothing was raised")


@case
def exceptions():
    loss, net = nn.CrossEntropyLoss(), mlp()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    attempt(Raising(Wrong()), loss, optimizer, Wrong)
    attempt(Raising(KeyboardInterrupt()), loss, optimizer, KeyboardInterrupt)
    attempt(net, RaisingLoss(), optimizer, Wrong)
    attempt(net, loss, optimizer, Wrong, RaisingGradient.apply)
    attempt(net, loss, RaisingStep(net.parameters(), lr=0.1), Wrong)
    return train(net, optimizer, steps=1)


class Tolerant(nn.Module):
    """Catches what an inner module raises."""

    def __init__(self):
        super().__init__()
        self.inner, self.other = Raising(Wrong()), nn.Linear(6, 3)

    def forward(self, x):
        try:
            return self.inner(x)
        except Wrong:
            return self.other(x)


@case
def exception_inside():
    net = Tolerant()
    return train(net, torch.optim.SGD(net.parameters(), lr=0.1))


@case
def gradient_penalty():
    net, loss = mlp(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = data()
    x.requires_grad_()
    optimizer.zero_grad()
    value = loss(net(x), y)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (value + slope.pow(2).sum()).backward()
    optimizer.step()
    return list(net.parameters())


@case
def without_modules():
    weight = torch.randn(3, 3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (weight @ weight).sum().backward()
        optimizer.step()
    return [weight]


class Twice(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)


@case
def optimizers_of_other_kinds():
    net = mlp()
    results = train(net, Twice(net.parameters(), lr=0.1), steps=1)
    first = torch.optim.Adam(net.parameters())
    results += train(net, copy.deepcopy(first), steps=1)
    return results + train(net, first, steps=1)


@case
def schedulers():
    net = mlp()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        one = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        two = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        results = train(net, optimizer, steps=1)
        one.step()
        two.step()
        results += train(net, optimizer, steps=1)
    assert not [w for w in caught if "lr_scheduler" in str(w.message)], caught
    return results


@torch.jit.script
def scripted_gradient(x):
    y = (x * x).sum()
    slope = torch.autograd.grad([y], [x], create_graph=True)[0]
    return slope if slope is not None else x


@case
def scripted():
    net = torch.jit.script(mlp())
    results = train(net, torch.optim.SGD(net.parameters(), lr=0.1), steps=1)
    traced = torch.jit.trace(mlp(), torch.randn(5, 6))
    results += train(traced, torch.optim.SGD(traced.parameters(), lr=0.1), steps=1)
    return results + [scripted_gradient(torch.randn(3, requires_grad=True))]


@case
def symbolic():
    net = torch.fx.symbolic_trace(mlp())
    return train(net, torch.optim.SGD(net.parameters(), lr=0.1))


class Counting(TorchFunctionMode):
    """A program that counts what it calls."""

    count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


@case
def counted():
    net = mlp()
    with Counting() as mode:
        results = train(net, torch.optim.Adam(net.parameters()))
    return results + [torch.tensor([mode.count])]


@case
def interrupted():
    """As if an interrupt had come between the byte codes that take a mark off the stack."""
    marks = sys.modules.get("tidemark._marks")
    net = mlp()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    if marks is not None and marks.Installer.made:
        installed = marks.Installer.made[0]
        installed.marks.push(marks.Mark(marks.FORWARD, 1), 3, "stale")
        installed.marks.here.mine.stepping.add(id(optimizer))
    return train(net, optimizer)


@case
def threads():
    nets = [mlp() for _ in range(3)]
    threads = [
        threading.Thread(target=train, args=(net, torch.optim.SGD(net.parameters(), lr=0.0), 20))
        for net in nets
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [parameter for net in nets for parameter in net.parameters()]


@case
def many_modules():
    for _ in range(300):
        layer = nn.Linear(6, 3)
        results = train(layer, torch.optim.SGD(layer.parameters(), lr=0.1), steps=1)
    return results


@case
def pickled():
    for function in (nn.Module.__call__, nn.Module.zero_grad, torch.optim.Optimizer.zero_grad,
                     torch.optim.Optimizer.__init__):
        assert pickle.loads(pickle.dumps(function)) is function, function
    net = mlp()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    train(net, optimizer, steps=1)
    net, optimizer = pickle.loads(pickle.dumps((net, optimizer)))
    call = pickle.loads(pickle.dumps(net.__call__))
    return train(net, optimizer, steps=1) + [call(data()[0])]


@case
def transformed():
    """Gradients by transformation, for each row of a batch."""
    func = getattr(torch, "func", None)
    net = mlp()
    names = [name for name, parameter in net.named_parameters()]
    if func is None:
        return list(net.parameters())

    def loss(parameters, x):
        return func.functional_call(net, parameters, (x,)).sum()

    each = func.vmap(func.grad(loss), in_dims=(None, 0))
    found = each(dict(net.named_parameters()), data()[0])
    return [found[name] for name in names]


@case
def step_inside_backward():
    net, loss = mlp(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD([net[2].bias], lr=0.1)
    net[0].weight.register_hook(lambda gradient: optimizer.step())
    x, y = data()
    optimizer.zero_grad()
    loss(net(x), y).backward()
    return list(net.parameters())


if __name__ == "__main__":
    case.run()
