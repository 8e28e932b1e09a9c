"""What optimizers and the like count on the device, and read on the host: each of these is counted on a
device that is not there and on the host, and has to be the same. With the device as the default one, on
which an optimizer has its steps then. Run inside of `tidemark rehearse`."""
import inspect
import sys

import torch
import torch.nn as nn

STEPS = 5


def on_device():
    return torch.get_default_device().type == "cuda"


def train(make, capturable=False, **options):
    """The optimizer after some steps, with a convolution and a product on the way."""
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1))
    if capturable and on_device():  # nowhere else
        options["capturable"] = True
    optimizer = make(model.parameters(), **options)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(3, 1, 4, 4)).mean().backward()
        optimizer.step()
    return optimizer


def state(optimizer, *names):
    return [[one[name].item() if torch.is_tensor(one[name]) else one[name] for name in names]
            for one in optimizer.state.values()]


def counts(make, names=("step",), **options):
    def run():
        return state(train(make, **options), *names)
    return run


def many(**options):
    """Of so many tensors that it takes more than one launch."""
    def run():
        weights = [nn.Parameter(torch.ones(2)) for _ in range(900)]
        optimizer = torch.optim.Adam(weights, **options)
        for _ in range(2):
            for weight in weights:
                weight.grad = torch.ones(2)
            optimizer.step()
        return state(optimizer, "step")
    return run


def lists(change, first=(0.0, 1.0, 5.0), **options):
    def run():
        tensors = [torch.tensor(one, **options) for one in first]
        result = change(tensors)
        return [one.tolist() for one in (result if result is not None else tensors)]
    return run


def averaged(**options):
    def run():
        model = nn.Linear(2, 1)
        average = torch.optim.swa_utils.AveragedModel(model, **options)
        for _ in range(3):
            average.update_parameters(model)
        return average.n_averaged.item()
    return run


def batches(momentum):
    def run():
        norm = nn.BatchNorm1d(3, momentum=momentum)
        for _ in range(4):
            norm(torch.randn(2, 3))
        return [norm.num_batches_tracked.item(), float(norm.num_batches_tracked)]
    return run


def rate():
    """A learning rate that lies on the device, changed by a scheduler."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=torch.tensor(0.5))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    optimizer.step()
    scheduler.step()
    return [float(optimizer.param_groups[0]["lr"]), scheduler.get_last_lr()[0]]


def loaded():
    """Steps that were saved, and counted on."""
    first = train(torch.optim.Adam)
    second = torch.optim.Adam([nn.Parameter(torch.zeros_like(one))
                               for one in first.param_groups[0]["params"]])
    second.load_state_dict(first.state_dict())
    for one in second.param_groups[0]["params"]:
        one.grad = torch.zeros_like(one)
    second.step()
    return state(second, "step")


def masks(size, **options):
    def run():
        mask = nn.Transformer.generate_square_subsequent_mask(size, **options)
        causal = torch.triu(torch.full((size, size), float("-inf")), diagonal=1)
        other = torch.triu(torch.full((size, size), float("-inf")), diagonal=2)
        return [bool((mask == causal).all()), bool((mask == other).all()), bool((mask != causal).any())]
    return run


def brought():
    mask = nn.Transformer.generate_square_subsequent_mask(100, device="cpu")
    causal = nn.Transformer.generate_square_subsequent_mask(100)
    return [bool((mask.to(causal.device) == causal).all()), int((mask.to(causal.device) == 0).sum())]


def encoder():
    """Whether it is told that its mask is causal."""
    layer = nn.TransformerEncoderLayer(8, 2, 8)
    told = []
    model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    model.layers[0].register_forward_pre_hook(
        lambda it, args, named: told.append(bool(named["is_causal"])), with_kwargs=True)
    model(torch.randn(5, 2, 8), mask=nn.Transformer.generate_square_subsequent_mask(5))
    return told


ADAMS = {"Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}
ONES = {"Adagrad": ("step",), "Adamax": ("step",), "NAdam": ("step", "mu_product"), "RAdam": ("step",),
        "ASGD": ("step", "eta", "mu"), "Rprop": ("step",), "RMSprop": ("step",), "Adadelta": ("step",),
        "SGD": ()}

COMPUTED = {
    "many tensors": many(),
    "many tensors, fused": many(fused=True),
    "saved and loaded": loaded,
    "lists, number": lists(lambda them: torch._foreach_add_(them, 1)),
    "lists, number, new": lists(lambda them: torch._foreach_add(them, 2.5)),
    "lists, numbers": lists(lambda them: torch._foreach_add_(them, [1, 2, 3])),
    "lists, lists": lists(lambda them: torch._foreach_add_(them, [one * 2 for one in them], alpha=3)),
    "lists, lists, less": lists(lambda them: torch._foreach_sub_(them, [one * 2 for one in them])),
    "lists, a tensor": lists(lambda them: torch._foreach_add_(them, torch.tensor(1.0), alpha=2.0)),
    "lists, product": lists(lambda them: torch._foreach_mul_(them, 0.5)),
    "lists, products": lists(lambda them: torch._foreach_mul_(them, [0.9, 0.8, 0.7])),
    "lists, quotient": lists(lambda them: torch._foreach_div_(them, 4)),
    "lists, less": lists(lambda them: torch._foreach_sub_(them, 1)),
    "lists, copy": lists(lambda them: torch._foreach_copy_(them, [one + 1 for one in them])),
    "lists, doubles": lists(lambda them: torch._foreach_add_(them, 1), dtype=torch.float64),
    "lists, longs": lists(lambda them: torch._foreach_add_(them, 1), (0, 7), dtype=torch.int64),
    "lists, of several": lists(lambda them: torch._foreach_add_(them, 1), ([1.0], [4.0])),
    "in place": lists(lambda them: [them[0].add_(1).mul_(3).sub_(0.5)]),
    "zeros and ones": lambda: [torch.zeros(()).add_(1).item(), torch.ones(1).add_(1).item()],
    "n_averaged": averaged(),
    "n_averaged, EMA": averaged(multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)),
    "n_averaged, buffers": averaged(use_buffers=True),
    "batches": batches(0.1),
    "batches, all alike": batches(None),
    "rate": rate,
    "mask": masks(7),
    "mask, larger": masks(300),
    "mask that was brought": brought,
    "encoder": encoder,
}


for name, make in ADAMS.items():
    COMPUTED[name] = counts(make)
    for option in ("foreach", "fused", "capturable", "amsgrad"):
        COMPUTED["%s, %s" % (name, option)] = counts(make, **{option: True})
    COMPUTED["%s, one by one" % name] = counts(make, foreach=False)
    COMPUTED["%s, capturable, one by one" % name] = counts(make, foreach=False, capturable=True)
    COMPUTED["%s, fused, amsgrad" % name] = counts(make, fused=True, amsgrad=True)
    COMPUTED["%s, a tensor as rate" % name] = lambda make=make: state(
        train(make, lr=torch.tensor(0.5)), "step")
for name, names in ONES.items():
    make = getattr(torch.optim, name)
    COMPUTED["%s, one by one" % name] = counts(make, names, foreach=False)
    COMPUTED[name] = counts(make, [one for one in names if one != "eta"])  # a power, on the device
    if "capturable" in inspect.signature(make).parameters:
        COMPUTED["%s, capturable" % name] = counts(make, names[:1], capturable=True)


def scaled():
    """The scaler's factor is not known at any time: none is taken for one that fell."""
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    seen = []
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(model(torch.randn(2, 4)).mean()).backward()
        seen.append(scaler.get_scale())
        scaler.step(optimizer)
        scaler.update()
    assert [one for row in state(optimizer, "step") for one in row] == [3.0, 3.0]
    return sum(seen + [scaler.get_scale()])


def written_by_a_product():
    result = torch.ones(1, 1)
    result.addmm_(torch.ones(1, 2), torch.ones(2, 1))
    return result.item()


def added_by_a_product():
    bias = torch.ones(1)
    return torch.nn.functional.linear(torch.ones(1, 2), torch.ones(1, 2), bias).item()


def one_channel():
    norm = nn.BatchNorm2d(1)
    norm(torch.randn(2, 1, 2, 2))
    return norm.running_var.item() + norm.running_mean.item()


def averaged_weight():
    weight = nn.Parameter(torch.ones(()))
    optimizer = torch.optim.Adam([weight])
    (weight * torch.randn(())).backward()
    optimizer.step()
    return weight.item() + optimizer.state[weight]["exp_avg"].item()


# Zeros, for nobody knows them, and never what was there before.
ZEROS = {
    "scale": scaled,
    "written by a product": written_by_a_product,
    "added by a product": added_by_a_product,
    "one channel": one_channel,
    "a weight that is one number": averaged_weight,
    "lists, random": lambda: sum(one.item() for one in torch._foreach_add(
        [torch.ones(()), torch.ones(())], [torch.rand(()), torch.rand(())])),
    "lists, power": lambda: torch._foreach_pow(0.9, [torch.ones(())])[0].item(),
    "what it was multiplied by": lambda: torch.ones(()).mul_(torch.rand(())).item(),
}


def outcome(run, device):
    torch.set_default_device(device)
    torch.manual_seed(0)
    try:
        return run()
    except (RuntimeError, ValueError, ArithmeticError, TypeError, AssertionError) as error:
        return "%s: %s" % (type(error).__name__, str(error).split("\n")[0])


def main():
    wrong = 0
    for name, run in COMPUTED.items():
        want, got = outcome(run, "cpu"), outcome(run, "cuda")
        if got != want:
            print("%s: %r instead of %r" % (name, got, want))
            wrong += 1
    for name, run in ZEROS.items():
        got = outcome(run, "cuda")
        if got != 0:
            print("%s: %r instead of zeros" % (name, got))
            wrong += 1
    print("%d of %d are wrong" % (wrong, len(COMPUTED) + len(ZEROS)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
