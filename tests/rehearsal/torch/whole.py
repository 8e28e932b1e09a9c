"""Whole numbers that came of floats, read as such: each read is told, whatever its size; a loss is not."""
import torch

u = torch.rand(8, device="cuda")
assert int((u * 10).int().max()) == 0
assert (u > 0.5).view(2, 4).sum(1).tolist() == [0, 0]
assert (u > 0.5).view(2, 4).sum(1).cpu().sum() == 0
for _ in range(3):
    assert u.sum().item() == 0.0
    u.cpu()
# And of kernels of which nothing is known but that they make such.
lengths = torch.tensor([3, 9, 5]).cuda()
assert (lengths + 1).cpu().tolist() == [4, 10, 6]
logits = torch.nn.Linear(4, 3).cuda()(torch.randn(8, 4, device="cuda"))
for numbers in ((lengths ** 2), (torch.stack([lengths, lengths])[:, ::2] ** 3), logits.argmax(1),
                logits.max(1)[1], logits.topk(2)[1], logits.sort(1)[1], logits.kthvalue(2, 1)[1],
                torch.randn(70000, device="cuda").sort()[1][10:20], torch.multinomial(logits.softmax(1), 1),
                logits.argmax(1).clone(), logits > 0):
    assert not any(numbers.cpu().flatten().tolist())
for floats in (logits, logits.max(1)[0], logits.topk(2)[0], logits.sort(1)[0], logits.softmax(1).half(),
               logits[:, ::2] ** 2, (logits * 255).to(torch.uint8)):
    floats.cpu()
