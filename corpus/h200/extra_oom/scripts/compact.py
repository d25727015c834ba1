"""Failures written as tersely as people write them: whole loops on one line, helpers shared, models built in passing.

Run as `compact.py NAME OUT.pickle.gz CAP_MIB`; a label stands at the end of each guilty line.
"""
import gc, gzip, json, pickle, sys
import torch, torch.nn as nn, torch.nn.functional as F
name, out, cap = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.cuda.set_per_process_memory_fraction(cap * 2**20 / torch.cuda.get_device_properties(0).total_memory)
torch.cuda.memory._record_memory_history(max_entries=500_000, stacks="python")
def conv(c=32):
    return nn.Sequential(nn.Conv2d(3, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 10)).cuda()
def enc(d=256, n=4):
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 8, 4 * d, batch_first=True), n).cuda()
def imgs(b, s=96): return torch.randn(b, 3, s, s, device="cuda"), torch.randint(0, 10, (b,), device="cuda")
def seqs(b, t, d=256): return torch.randn(b, t, d, device="cuda")
def sim_matrix():
    e = enc(); x = seqs(8, 64); z = e(x).mean(1)
    big = torch.randn(60000, 256, device="cuda"); s = big @ big.t()  # request_too_large
def logits_of_everything():
    m = nn.Linear(512, 50000).cuda(); h = torch.randn(16384, 512, device="cuda"); p = m(h)  # request_too_large
def image_too_large():
    m = conv(); o = torch.optim.Adam(m.parameters())
    for s in (64, 96, 128, 192, 256, 512, 1024): x, y = imgs(16, s); o.zero_grad(); F.cross_entropy(m(x), y).backward(); o.step()  # too_big
def sequence_too_long():
    m = enc(); o = torch.optim.SGD(m.parameters(), 0.1)
    for t in (128, 256, 512, 1024, 2048, 4096):
        x = seqs(16, t)
        o.zero_grad(); l = m(x).pow(2).mean(); l.backward(); o.step()  # too_big
def adamw_first_step():
    m = nn.Sequential(*[nn.Linear(3072, 3072) for _ in range(8)]).cuda(); o = torch.optim.AdamW(m.parameters(), 1e-3)
    for i in range(3):
        o.zero_grad(); m(torch.randn(32, 3072, device="cuda")).square().mean().backward()
        o.step()  # too_big
def conv_outputs_kept():
    m = conv(); kept = []
    for i in range(100000): x, y = imgs(32); kept.append(m(x))  # leak
def losses_kept():
    m = enc(); losses = []
    while True: x = seqs(8, 128); losses.append(m(x).pow(2).mean())  # leak
def total_loss_kept():
    m = conv(); o = torch.optim.SGD(m.parameters(), 0.1); tot = 0.0
    for i in range(100000):
        x, y = imgs(32)
        o.zero_grad(); l = F.cross_entropy(m(x), y); l.backward(retain_graph=True); o.step()
        tot += l  # leak
def eval_without_no_grad():
    m = conv(); o = torch.optim.Adam(m.parameters()); preds = []
    for i in range(6): x, y = imgs(32); o.zero_grad(); F.cross_entropy(m(x), y).backward(); o.step()
    m.eval()
    for i in range(100000): x, y = imgs(32); preds += [m(x).softmax(-1)]  # leak
def cycle():
    gc.disable(); m = enc()
    class Node: pass
    for i in range(100000):
        n = Node(); n.self = n
        with torch.no_grad(): n.h = m(seqs(16, 256))  # leak
def cycle_closure():
    gc.disable(); m = conv()
    def run():
        x, y = imgs(64); f = lambda: (f, x)
    for i in range(100000): run(); m(imgs(2)[0]).sum().item()  # leak
def cache_grows():
    cache = torch.empty(0, 256, device="cuda"); m = enc()
    with torch.no_grad():
        for i in range(100000): cache = torch.cat([cache, m(seqs(16, 128)).flatten(0, 1)])  # growth
def context_grows():
    ctx = seqs(32, 1)
    for i in range(100000): ctx = torch.cat((ctx, torch.tanh(ctx[:, -1:])), 1)  # growth
def pad_grows():
    buf = torch.zeros(64, 1024, device="cuda")
    while True: buf = F.pad(buf, (0, 0, 0, 256))  # growth
def grads_held():
    m = enc(512, 6); held = []
    for i in range(1000): m.zero_grad(); m(seqs(4, 64, 512)).mean().backward(); held.append([p.grad for p in m.parameters()])  # leak
def grad_norm_history():
    m = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(6)]).cuda(); hist = []
    for i in range(10000):
        m.zero_grad(); m(torch.randn(64, 1024, device="cuda")).mean().backward()
        hist.append(torch.cat([p.grad.flatten() for p in m.parameters()]))  # leak
def gru_carried():
    r = nn.GRU(256, 512, 2, batch_first=True).cuda(); h = None
    for i in range(100000): o, h = r(torch.randn(64, 32, 256, device="cuda"), h)  # leak
def state_carried_by_hand():
    w = torch.randn(1024, 1024, device="cuda", requires_grad=True); s = torch.zeros(1024, 1024, device="cuda")
    for i in range(100000):
        x = torch.randn(1024, 1024, device="cuda")
        s = torch.tanh(x @ w + s)  # leak
def holes():
    mib = 2**18; keep = []
    for i in range(cap // 32):
        t = torch.empty(30 * mib, device="cuda"); del t
        a = torch.empty(24 * mib, device="cuda"); keep.append(torch.empty(4 * mib, device="cuda")); keep.append(a)
    keep = keep[::2]; a = None
    want = torch.empty(cap // 3 * mib, device="cuda")  # fragmentation
def outside():
    import ctypes, glob, os
    lib = glob.glob(os.path.dirname(torch.__file__) + "/../nvidia/cu13/lib/libcudart.so.13"); rt = ctypes.CDLL(lib[0] if lib else "libcudart.so.13")
    torch.cuda.set_per_process_memory_fraction(1.0); torch.zeros(1, device="cuda")
    p = ctypes.c_void_p(); rt.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(torch.cuda.mem_get_info()[0] - cap * 2**20))
    m = conv(64); o = torch.optim.Adam(m.parameters())
    while True: x, y = imgs(256, 128); o.zero_grad(); F.cross_entropy(m(x), y).backward(); o.step()  # outside_pytorch
def fine():
    m = conv(); o = torch.optim.Adam(m.parameters()); best = None; hist = []
    for i in range(20): x, y = imgs(16 + i % 5); o.zero_grad(); l = F.cross_entropy(m(x), y); l.backward(); o.step(); hist.append(l.item()); best = x if best is None else best
row = {"case": name, "cap_mib": cap, "file": "compact.py", "class": "none", "line": None}
body = False
for number, line in enumerate(open(__file__), 1):
    if line.startswith("def "): body = line.startswith(f"def {name}(")
    if body and "  # " in line: row["class"], row["line"] = line.rsplit("# ", 1)[1].strip(), number
if row["class"] in ("fragmentation", "outside_pytorch"): row["line"] = None
try:
    globals()[name](); row["end"] = "ok"
except torch.OutOfMemoryError as error:
    row["end"] = str(error).split(" GPU 0 has")[0]
stats = torch.cuda.memory_stats()
row.update(allocated=stats["allocated_bytes.all.current"], reserved=stats["reserved_bytes.all.current"], peak_allocated=stats["allocated_bytes.all.peak"], peak_reserved=stats["reserved_bytes.all.peak"], observer=False, snapshot=f"compact_{name}.pickle.gz")
with gzip.open(out, "wb", 9) as file: pickle.dump(torch.cuda.memory._snapshot(), file, protocol=4)
print("ROW " + json.dumps(row))
