"""What programs ask before they go on: torch.distributions of what a product made, guards of a loss, PyTorch of a
graph. They have to be content, as they would be on a GPU."""
import warnings

import torch
from torch import nn
from torch.distributions import Beta, Categorical, Normal

policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2)).cuda()
optimizer = torch.optim.Adam(policy.parameters())
old = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 7)
for _ in range(3):
    out = policy(torch.randn(256, 4, device="cuda"))
    if old:
        break
    choice = Categorical(out.softmax(-1))
    normal = Normal(out[:, 0], nn.functional.softplus(out[:, 1]))
    beta = Beta(out[:, 0].exp(), out[:, 1].exp())
    sample = choice.sample()
    loss = -(choice.log_prob(sample) + normal.log_prob(normal.rsample()) + beta.log_prob(beta.rsample()))
    optimizer.zero_grad()
    loss.mean().backward()
    optimizer.step()
# What is on the host is judged as ever.
try:
    Categorical(torch.tensor([-1.0, 2.0]))
except ValueError:
    pass
else:
    raise AssertionError("nobody looked")
# So that a program which stops where its loss is not finite goes on.
for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    loss = (torch.randn(4, 4, device="cuda") @ torch.randn(4, 4, device="cuda")).sum().to(kind)
    assert torch.isfinite(loss) and loss.isfinite().all() and torch.isfinite(input=loss), kind
assert not torch.isfinite(torch.tensor(float("inf"), dtype=torch.bfloat16))
# A graph of a product alone is not empty.
linear, x = nn.Linear(8, 8, bias=False).cuda(), torch.randn(4, 8, device="cuda")
linear(x)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    with torch.no_grad(), torch.cuda.graph(torch.cuda.CUDAGraph()):
        linear(x)
