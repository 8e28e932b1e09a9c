"""A training that looks at some of its steps with torch.profiler. No kernel runs, so the profile has the
CPU's side; memory that comes while it runs is the driver's all the same."""
import torch
from torch.profiler import ProfilerActivity, profile

model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.Adam(model.parameters())
held = []


def step():
    optimizer.zero_grad()
    model(torch.randn(32, 256, device="cuda")).sum().backward()
    optimizer.step()


step()
for _ in range(2):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        step()
        held.append(torch.empty(64 << 20, device="cuda"))
    events = profiled.events()
    assert any(event.name == "aten::addmm" for event in events), "the CPU's side"
    assert not any(event.device_type == torch.autograd.DeviceType.CUDA for event in events)
held.append(torch.empty(32 << 20, device="cuda"))
step()
