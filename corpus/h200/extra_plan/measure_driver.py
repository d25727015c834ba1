"""What makes the driver move its own memory: after which operations cudaMalloc finds room where the driver had some.

    python measure_driver.py > driver_moves.jsonl        (one H200, about 2 minutes with 8 processes at a time; prints JSON lines)
"""
import json, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

OPS = {
    "nothing": "pass",
    "fill": "torch.zeros(1024, device=d)",
    "copy": "torch.ones(1024).to(d)",
    "arange": "torch.arange(1024, device=d)",
    "randn": "torch.randn(4096, device=d)",
    "randint": "torch.randint(0, 10, (4096,), device=d)",
    "add": "x + x",
    "relu": "x.relu()",
    "gelu": "F.gelu(x)",
    "cast": "x.bfloat16()",
    "tanh_pow": "torch.tanh(x.pow(3.0))",
    "embedding": "F.embedding(ids, table)",
    "index_select": "table.index_select(0, ids.flatten())",
    "gather": "table.gather(1, torch.zeros(100, 4, dtype=torch.long, device=d))",
    "dropout": "F.dropout(x, 0.1, True)",
    "layer_norm": "F.layer_norm(x, (1024,), torch.ones(1024, device=d), torch.ones(1024, device=d))",
    "rms_norm": "F.rms_norm(x, (1024,))",
    "softmax": "x.softmax(-1)",
    "log_softmax": "x.log_softmax(-1)",
    "nll_loss": "F.nll_loss(x, torch.zeros(1024, dtype=torch.long, device=d))",
    "cross_entropy": "F.cross_entropy(x, torch.zeros(1024, dtype=torch.long, device=d))",
    "sum": "x.sum()",
    "sum0": "x.sum(0)",
    "mean_last": "x.mean(-1)",
    "max": "x.max(-1)",
    "isfinite_all": "x.isfinite().all().item()",
    "mm_fp32": "x @ x",
    "mm_fp32_small": "x[:64, :64] @ x[:64, :64]",
    "mm_bf16": "h @ h",
    "linear_bias_fp32": "F.linear(x, x, x[0])",
    "linear_bias_bf16": "F.linear(h, h, h[0])",
    "bmm_fp32": "torch.bmm(x.view(4, 256, 1024), x.view(4, 1024, 256))",
    "mm_backward": "a = x.clone().requires_grad_(); (a @ x).sum().backward()",
    "conv_fp32": "F.conv2d(im, w)",
    "conv_bf16": "F.conv2d(im.bfloat16(), w.bfloat16())",
    "conv_bf16_nhwc": "F.conv2d(im.bfloat16().to(memory_format=torch.channels_last), w.bfloat16().to(memory_format=torch.channels_last))",
    "conv_fp32_1x1": "F.conv2d(im, w[:, :, :1, :1])",
    "conv_fp32_7x7": "F.conv2d(im[:, :3], torch.randn(64, 3, 7, 7, device=d), stride=2, padding=3)",
    "conv_backward": "a = w.clone().requires_grad_(); F.conv2d(im, a).sum().backward()",
    "depthwise": "F.conv2d(im, torch.randn(64, 1, 3, 3, device=d), groups=64)",
    "conv_transpose": "F.conv_transpose2d(im, w)",
    "batch_norm": "F.batch_norm(im, torch.zeros(64, device=d), torch.ones(64, device=d), torch.ones(64, device=d), torch.ones(64, device=d), True)",
    "max_pool": "F.max_pool2d(im, 2)",
    "adaptive_pool": "F.adaptive_avg_pool2d(im, 1)",
    "interpolate": "F.interpolate(im, scale_factor=2, mode='bilinear')",
    "sdpa_fp32": "F.scaled_dot_product_attention(q, q, q, is_causal=True)",
    "sdpa_bf16": "F.scaled_dot_product_attention(q.bfloat16(), q.bfloat16(), q.bfloat16(), is_causal=True)",
    "sdpa_fp16_mask": "F.scaled_dot_product_attention(q.half(), q.half(), q.half(), attn_mask=torch.ones(256, 256, dtype=torch.bool, device=d))",
    "cat": "torch.cat([x, x])",
    "stack_transpose": "x.t().contiguous()",
    "masked_fill": "x.masked_fill(x > 0, 1.0)",
    "where": "torch.where(x > 0, x, x)",
    "tril": "x.tril()",
    "cumsum": "x.cumsum(-1)",
    "sort": "x.flatten().sort()",
    "topk": "x.topk(5)",
    "argmax": "x.argmax(-1)",
    "nonzero": "x.nonzero()",
    "unique": "ids.unique()",
    "index_put": "t = table.clone(); t[ids.flatten()] = 1.0",
    "scatter_add": "torch.zeros(4096, device=d).scatter_add_(0, ids.flatten(), torch.ones(ids.numel(), device=d))",
    "embedding_backward": "t = table.clone().requires_grad_(); F.embedding(ids, t).sum().backward()",
    "layer_norm_backward": "a = x.clone().requires_grad_(); F.layer_norm(a, (1024,), torch.ones(1024, device=d).requires_grad_()).sum().backward()",
    "mse_backward": "a = x.clone().requires_grad_(); F.mse_loss(a, x).backward()",
    "sgd": "p = torch.nn.Parameter(x.clone()); p.grad = x; torch.optim.SGD([p], lr=0.1).step()",
    "adamw": "p = torch.nn.Parameter(x.clone()); p.grad = x; torch.optim.AdamW([p]).step()",
    "adamw_fused": "p = torch.nn.Parameter(x.clone()); p.grad = x; torch.optim.AdamW([p], fused=True).step()",
    "clip": "p = torch.nn.Parameter(x.clone()); p.grad = x; torch.nn.utils.clip_grad_norm_([p], 1.0)",
    "lstm": "torch.nn.LSTM(64, 64).to(d)(torch.randn(10, 4, 64, device=d))",
    "fft": "torch.fft.rfft(x)",
    "cholesky": "torch.linalg.cholesky(torch.eye(256, device=d))",
    "complex": "x[:64].to(torch.complex64).abs()",
    "mm_then_embedding": "x @ x; F.embedding(ids, table)",
    "embedding_mm": "F.embedding(ids, table); x @ x",
    "embedding_mm_twothreads": "F.embedding(ids, table); a = x.clone().requires_grad_(); (a @ x).sum().backward()",
}
CHILD = r'''
import json, os, sys
os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
import torch, torch.nn.functional as F
MIB = 1 << 20
d = "cuda"
first = torch.empty(2 * MIB, dtype=torch.uint8, device=d)
base = first.data_ptr() - 414 * MIB
kept = []
def probe(*sizes):
    out = []
    for mib in sizes:
        t = torch.empty(mib * MIB, dtype=torch.uint8, device=d); kept.append(t); out.append((t.data_ptr() - base) / MIB)
    return out
def free():
    torch.cuda.synchronize(); return torch.cuda.mem_get_info()[0]
# Inputs without a kernel: copies from the host.
torch.manual_seed(0)
x = torch.randn(1024, 1024).to(d); h = torch.randn(1024, 1024).bfloat16().to(d); ids = torch.randint(0, 100, (8, 128)).to(d); table = torch.randn(100, 512).to(d)
im = torch.randn(8, 64, 56, 56).to(d); w = torch.randn(64, 64, 3, 3).to(d); q = torch.randn(4, 8, 256, 64).to(d)
res = {"aligned": base % (32 * MIB) == 0, "before": probe(20), "free": [free()]}
def act():
    exec(sys.argv[1])
act()
res["free"].append(free())
res["after"] = probe(20, 32, 2, 16, 2)
res["free"].append(free())
print("RESULT" + json.dumps(res), flush=True)
'''

def one(name):
    try:
        done = subprocess.run([sys.executable, "-c", CHILD.replace("exec(sys.argv[1])", OPS[name])], capture_output=True, text=True, timeout=200)
        line = next((line[6:] for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
        return json.dumps({"op": name, **(json.loads(line) if line else {"problem": done.stderr[-300:]})})
    except Exception as problem:
        return json.dumps({"op": name, "problem": repr(problem)[:200]})

with ThreadPoolExecutor(8) as pool:
    for line in pool.map(one, OPS):
        print(line, flush=True)
