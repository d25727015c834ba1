"""What the library answered by an estimate is listed, once for each question, and nothing else is."""

import ctypes
import json
import sys

import torch
from torch import nn

hollow = ctypes.CDLL(None)
hollow.oomph_hollow_estimates.restype = ctypes.c_size_t
hollow.oomph_hollow_estimates.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def estimates():
    size = hollow.oomph_hollow_estimates(None, 0)
    buffer = ctypes.create_string_buffer(size)
    assert hollow.oomph_hollow_estimates(buffer, size) == size
    return json.loads(buffer.value)


def counted(words):
    lines = [line["count"] for line in estimates() if words in line["what"]]
    assert len(lines) <= 1, estimates()
    return lines[0] if lines else 0


is_measured = "unmeasured" not in sys.argv
new_cudnn = torch.backends.cudnn.version() >= 90800

# What was asked of a real library, or measured on this card, is no estimate.
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(64, 512, device="cuda")).square().mean().backward()
    optimizer.step()
convolution = nn.Conv2d(256, 256, 3, padding=1).cuda()
for _ in range(2):
    convolution(torch.randn(32, 256, 14, 14, device="cuda")).sum().backward()
if torch.backends.cudnn.version() // 100 == 919:
    lstm = nn.LSTM(256, 512).cuda()
    lstm(torch.randn(50, 64, 256, device="cuda"))[0].sum().backward()
    assert counted("recurrent network") == (0 if is_measured else 1), estimates()
if is_measured and new_cudnn:
    assert estimates() == [], estimates()
if not is_measured:
    assert counted("cuBLAS takes") == 1, estimates()
    assert not new_cudnn or counted("how many blocks this card runs") > 0, estimates()

# What rests on a rule of our own is, and the same question is one estimate however often it is asked.
for _ in range(3):
    torch.fft.fft(torch.zeros(1021, device="cuda"))
    torch.linalg.cholesky_ex(torch.zeros(64, 64, device="cuda"))
assert counted("Fourier transform") == 1, estimates()
assert counted("matrix factorization") == 1, estimates()
torch.fft.fft(torch.zeros(1024, device="cuda"))
assert counted("Fourier transform") == 1, "a transform inside one block needs no work area"

probabilities = torch.randn(50, 4, 20, device="cuda").log_softmax(2)
labels = torch.ones(40, dtype=torch.int32)
steps, letters = torch.full((4,), 50, dtype=torch.int32), torch.full((4,), 10, dtype=torch.int32)
torch._cudnn_ctc_loss(probabilities, labels, steps.tolist(), letters.tolist(), 0, True, False)
assert counted("CTC loss") == 1, estimates()

# Which engine is the fastest only a card can say. Whoever times a whole network has not asked for that.
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
convolution(torch.randn(32, 256, 14, 14, device="cuda")).relu()
end.record()
start.elapsed_time(end)
assert counted("proposes first") == 0, estimates()
torch.backends.cudnn.benchmark = True
for _ in range(2):
    convolution(torch.randn(8, 256, 14, 14, device="cuda"))
assert not new_cudnn or counted("proposes first") == 1, estimates()
