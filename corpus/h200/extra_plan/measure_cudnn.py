"""Run on a card: what cuDNN wants for RNNs, batch norm, dropout, CTC. One JSON object a line on stdout. About 20 seconds.
python measure_rnn.py > rnn.jsonl"""
import ctypes as C, glob, json, os, itertools, torch
torch.zeros(1, device="cuda")
base = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia", "cudnn", "lib")
lib = C.CDLL(os.path.join(base, "libcudnn.so.9"))
adv = lib
def ck(r, w):
    if r: raise RuntimeError(f"{w}: {r}")
h = C.c_void_p(); ck(lib.cudnnCreate(C.byref(h)), "create")
s = C.c_size_t(); ck(lib.cudnnDropoutGetStatesSize(h, C.byref(s)), "dropout")
print(json.dumps({"dropout_states": s.value, "version": lib.cudnnGetVersion()}))
DT = {"f32": 0, "f16": 2, "bf16": 9}
def rnn(mode, I, H, P, L, bi, T, B, dt, algo=0, drop=0.0, train=1, layout=0):
    d = C.c_void_p(); ck(lib.cudnnCreateRNNDescriptor(C.byref(d)), "rnn")
    dd = C.c_void_p(); ck(lib.cudnnCreateDropoutDescriptor(C.byref(dd)), "dropdesc")
    st = torch.empty(s.value, dtype=torch.uint8, device="cuda")
    ck(lib.cudnnSetDropoutDescriptor(dd, h, C.c_float(drop), C.c_void_p(st.data_ptr()), C.c_size_t(s.value), C.c_ulonglong(1)), "setdrop")
    math = 3 if dt == "f32" else 1   # tensor op / allow conversion as PyTorch sets it for f32 with allow_tf32: see below
    for m in ((0, 1, 2, 3)):
        pass
    ck(lib.cudnnSetRNNDescriptor_v8(d, algo, {"relu": 0, "tanh": 1, "lstm": 2, "gru": 3}[mode], 2, bi, 0, DT[dt], 0 if dt != "f64" else 1, 1, I, H, P or H, L, dd, 1), "set")
    x = C.c_void_p(); ck(lib.cudnnCreateRNNDataDescriptor(C.byref(x)), "x")
    lens = (C.c_int * B)(*[T] * B); z = C.c_float(0)
    ck(lib.cudnnSetRNNDataDescriptor(x, DT[dt], layout, T, B, I, lens, C.byref(z)), "xset")
    w, r, ws = C.c_size_t(), C.c_size_t(), C.c_size_t()
    ck(lib.cudnnGetRNNTempSpaceSizes(h, d, train, x, C.byref(w), C.byref(r)), "temp"); ck(lib.cudnnGetRNNWeightSpaceSize(h, d, C.byref(ws)), "weights")
    print(json.dumps(dict(mode=mode, I=I, H=H, P=P, L=L, bi=bi, T=T, B=B, dt=dt, algo=algo, drop=drop, train=train, layout=layout, work=w.value, reserve=r.value, weights=ws.value)), flush=True)
base_ = dict(mode="lstm", I=256, H=512, P=0, L=1, bi=0, T=50, B=64, dt="f32")
for change in [{}] + [{"T": t} for t in (1, 2, 3, 8, 16, 32, 49, 51, 64, 100, 200)] + [{"B": b} for b in (1, 2, 16, 32, 63, 128, 256)] + [{"H": x} for x in (32, 64, 100, 128, 256, 500, 650, 1024, 2048)] + \
        [{"I": x} for x in (1, 16, 128, 512, 650, 1024)] + [{"L": x} for x in (2, 3, 4)] + [{"bi": 1}, {"bi": 1, "L": 2}, {"P": 128}, {"drop": 0.2, "L": 2}, {"train": 0}, {"train": 0, "L": 2}, {"layout": 1}, {"layout": 2}]:
    for mode in ("lstm", "gru", "tanh", "relu"):
        for dt in ("f32", "f16", "bf16"):
            for algo in ((0, 1) if dt != "f32" else (0,)):
                a = dict(base_, **change, mode=mode, dt=dt, algo=algo)
                if a["P"] and mode != "lstm": continue
                try: rnn(**a)
                except RuntimeError as e: print(json.dumps(dict(a, error=str(e))))
for a in (dict(I=650, H=650, L=2, T=35, B=64, drop=0.2), dict(I=512, H=512, L=2, T=32, B=64), dict(I=128, H=512, L=1, T=64, B=32, mode="gru")):
    rnn(**dict(base_, **a))
# batch norm, by mode, layout and type
def tensor(n, c, hh, w, dt, cl):
    t = C.c_void_p(); ck(lib.cudnnCreateTensorDescriptor(C.byref(t)), "t")
    st = (c * hh * w, 1, w * c, c) if cl else (c * hh * w, hh * w, w, 1)
    ck(lib.cudnnSetTensorNdDescriptor(t, DT[dt], 4, (C.c_int * 4)(n, c, hh, w), (C.c_int * 4)(*st)), "tset"); return t
for (n, c, hh, w), dt, cl, mode in itertools.product(((32, 64, 56, 56), (32, 2048, 7, 7), (64, 256, 14, 14), (8, 64, 112, 112)), ("f32", "f16", "bf16"), (0, 1), (1, 2)):
    x = tensor(n, c, hh, w, dt, cl); p = tensor(1, c, 1, 1, "f32", 0); f, r, b = C.c_size_t(), C.c_size_t(), C.c_size_t()
    e = [lib.cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(h, mode, 0, x, None, x, p, None, C.byref(f)), lib.cudnnGetBatchNormalizationTrainingExReserveSpaceSize(h, mode, 0, None, x, C.byref(r)),
         lib.cudnnGetBatchNormalizationBackwardExWorkspaceSize(h, mode, 0, x, None, x, None, x, p, None, C.byref(b))]
    print(json.dumps(dict(batch_norm=[n, c, hh, w], dt=dt, channels_last=cl, mode=mode, forward=f.value, reserve=r.value, backward=b.value, errors=e)))
