"""torch.profiler in a program, recorded and not.

    profiled.py run FILE [--device cuda]    trains under the profiler; what it saw goes into FILE
    profiled.py compare BARE RECORDED       exit status 0 if both saw the same

What is compared: how often each kernel ran on the GPU, and each operator on the CPU.
"""
import collections
import json
import sys


def train(steps, device, torch):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 8)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    given = torch.randn(64, 256, device=device)
    for _ in range(steps):
        optimizer.zero_grad()
        model(given).square().mean().backward()
        optimizer.step()
    if device == "cuda":
        torch.cuda.synchronize()


def profile(device):
    """Steps before, under and after the profiler."""
    import torch
    from torch.profiler import ProfilerActivity
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device == "cuda")
    train(2, device, torch)
    with torch.profiler.profile(activities=activities) as profiler:
        train(3, device, torch)
    train(2, device, torch)
    seen = {"gpu": collections.Counter(), "cpu": collections.Counter()}
    for event in profiler.events():
        on_gpu = "CUDA" in str(event.device_type)
        seen["gpu" if on_gpu else "cpu"][event.name] += 1
    return seen


def interesting(seen):
    """Calls of the runtime, such as a query, may differ in number; operators and kernels may not."""
    return {"gpu": seen["gpu"],
            "cpu": {name: count for name, count in seen["cpu"].items() if name.startswith("aten::")}}


def compare(bare_file, recorded_file):
    with open(bare_file) as bare, open(recorded_file) as recorded:
        one, other = interesting(json.load(bare)), interesting(json.load(recorded))
    differences = [(where, name, one[where].get(name, 0), other[where].get(name, 0))
                   for where in one for name in sorted(set(one[where]) | set(other[where]))
                   if one[where].get(name, 0) != other[where].get(name, 0)]
    for where, name, count, recorded_count in differences:
        print("%s: %s: bare %d times, recorded %d times" % (where, name, count, recorded_count))
    print("figures: the profiler saw %d things on the GPU and %d operators bare, %d and %d recorded"
          % (sum(one["gpu"].values()), sum(one["cpu"].values()),
             sum(other["gpu"].values()), sum(other["cpu"].values())))
    if differences or not one["cpu"]:
        return 1
    return 0 if one["gpu"] else 77


def main():
    if sys.argv[1:2] == ["run"] and len(sys.argv) > 2:
        seen = profile("cuda" if "cuda" in sys.argv[3:] else "cpu")
        with open(sys.argv[2], "w") as file:
            json.dump(seen, file)
        return 0
    if sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        return compare(*sys.argv[2:])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
