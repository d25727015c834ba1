"""Linear algebra, transforms, sparse matrices, attention and losses run, and call nothing that is not modelled."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def full(*shape, dtype=torch.float32):
    return torch.empty(*shape, device="cuda", dtype=dtype)


a, batch = full(64, 64), full(8, 16, 16)
for name in ("svd", "qr", "cholesky", "inv", "eigh", "eigvalsh", "slogdet", "lu_factor", "matrix_rank", "pinv", "ldl_factor"):
    for matrix in (a, batch):
        getattr(torch.linalg, name)(matrix)
for b in (full(64, 3), full(64)):
    torch.linalg.solve(a, b)
torch.linalg.lstsq(a, full(64, 3))
torch.linalg.solve_triangular(a, full(64, 4), upper=True)
torch.cholesky_solve(full(64, 3), a)
torch.ormqr(a, full(64), a)
torch.dot(full(64), full(64))
torch.bmm(full(4, 8, 8, dtype=torch.cfloat), full(4, 8, 8, dtype=torch.cfloat))
F.linear(a, a, full(64))

for length in (1000, 1 << 15, 10007):
    torch.fft.irfft(torch.fft.rfft(full(4, length)), n=length)
torch.fft.fft2(full(4, 128, 128))

rows = torch.arange(65) * 2
csr = torch.sparse_csr_tensor(rows, torch.arange(128) % 64, torch.ones(128), size=(64, 64)).cuda()
coo = torch.sparse_coo_tensor(torch.randint(0, 64, (2, 100)), torch.ones(100), (64, 64)).cuda()
csr @ full(64, 8), csr @ full(64), csr @ csr
torch.sparse.mm(coo, full(64, 8))
torch.sparse.sampled_addmm(csr, full(64, 8), full(8, 64))

for dtype in (torch.float32, torch.float16, torch.bfloat16):
    query = full(2, 8, 256, 64, dtype=dtype).requires_grad_()
    for backend in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        if dtype is torch.float32 and backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            continue
        if backend is SDPBackend.CUDNN_ATTENTION and torch.backends.cudnn.version() < 90800:
            continue  # cannot be asked without a card
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(query, query, query, is_causal=True).sum().backward()

scores = full(50, 16, 20).requires_grad_()
lengths = torch.full((16,), 50), torch.full((16,), 10)
F.ctc_loss(scores.log_softmax(2), torch.ones(16, 10, dtype=torch.long, device="cuda"), *lengths).backward()
F.grid_sample(full(2, 3, 16, 16), full(2, 8, 8, 2), align_corners=False)
