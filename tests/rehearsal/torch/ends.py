"""What is handed out by CUDA's libraries is taken back at the end of the process, by destructors of
PyTorch's: each program ends as it does on a GPU. Run inside of `tidemark rehearse`."""
import subprocess
import sys

ENDS = {
    "plans of cuFFT": """
import torch
torch.backends.cuda.cufft_plan_cache.max_size = 3
for n in range(2, 20):
    torch.fft.rfft(torch.ones(n, device="cuda"))""",
    "plans of a thread": """
import threading, torch
one = threading.Thread(target=lambda: torch.fft.fft2(torch.ones(8, 8, device="cuda")))
one.start()
one.join()""",
    "batches of cuBLAS": """
import torch
x = torch.randn(64, 8, 8, device="cuda")
torch.linalg.qr(x)
torch.linalg.lstsq(x, x)
torch.linalg.lu_solve(*torch.linalg.lu_factor(x), x)""",
    "cuSOLVER": """
import torch
x = torch.randn(64, 64, device="cuda")
torch.linalg.svd(x), torch.linalg.eigh(x), torch.linalg.cholesky(x), torch.linalg.ldl_factor(x)""",
    "sparse products": """
import torch
x = torch.sparse_coo_tensor(torch.tensor([[1, 3], [0, 1]]), torch.ones(2), (8, 8)).cuda()
assert torch.sparse.mm(x, x)._nnz() == 0 # of what is not known
(x.to_sparse_csr() + x.to_sparse_csr()) @ torch.ones(8, 2, device="cuda")""",
    "cuDNN without graphs": """
import os
os.environ["TORCH_CUDNN_V8_API_DISABLED"] = "1"
import torch
x = torch.randn(1, 3, 16, 16, device="cuda")
for torch.backends.cudnn.benchmark in (False, True):
    torch.nn.Conv2d(3, 8, 3).cuda()(x).sum().backward()""",
    "an LSTM": """
import torch
torch.nn.LSTM(8, 8, 2, dropout=0.5).cuda()(torch.randn(3, 2, 8, device="cuda"))[0].sum().backward()""",
    "a graph": """
import torch
graph, x = torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")
with torch.cuda.graph(graph):
    y = x + torch.rand(4, device="cuda")
graph.replay()""",
}


def receive(queue, done):
    x = queue.get()
    print("a tensor of another process: %s, %s" % (list(x.shape), (x + 1).cpu().shape))
    del x
    done.set()


def share():
    """What torch.multiprocessing hands on: the other's exit status."""
    import torch
    context = torch.multiprocessing.get_context("spawn")
    queue, done = context.Queue(), context.Event()
    other = context.Process(target=receive, args=(queue, done))
    other.start()
    x = torch.ones(1000, device="cuda")
    queue.put(x)
    other.join()
    return other.exitcode


def main():
    wrong = []
    for name, program in ENDS.items():
        status = subprocess.run([sys.executable, "-c", program], check=False).returncode
        print("%s: %d" % (name, status))
        wrong += [name] * (status != 0)
    status = share()
    print("shared: %d; wrong: %s" % (status, wrong))
    return 0 if status == 0 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
