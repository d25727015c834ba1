import torch
from flask import Flask, request

app = Flask(__name__)
model = torch.jit.load("model.ts", map_location="cpu").cuda().eval()
net = torch.nn.Sequential(torch.nn.Linear(16, 4)).cuda().eval()


@app.route("/p", methods=["POST"])
def p():
    x = torch.tensor(request.json["x"]).cuda()
    fast = torch.compile(net, mode="reduce-overhead")
    with torch.inference_mode():
        return {"y": fast(x).tolist()}


def export(nets, x):
    for i, n in enumerate(nets):
        for size in (224, 384):
            ts = torch.jit.trace(n, x[..., :size, :size])
            ts.save(f"{i}_{size}.ts")
