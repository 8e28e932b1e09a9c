"""What NVIDIA's nvtx package for Python does with ranges: context managers, decorators, domains."""
import nvtx

for i in range(3):
    with nvtx.annotate(f"step {i}"):
        with nvtx.annotate("forward", color="blue"):
            pass
        with nvtx.annotate("gather", domain="loader", category="io", payload=5):
            pass
        with nvtx.annotate("backward"):
            pass


@nvtx.annotate()
def decorated():
    pass


decorated()
nvtx.mark("here", payload=12)
nvtx.end_range(nvtx.start_range("free"))
nvtx.push_range("eval")
nvtx.pop_range()
