"""Collect attention of every layer of a trained GAT for the appendix figures."""
import pickle
import torch


class Explainer:
    def __init__(self, gat):
        self.gat = gat.eval()
        self.trace = []

    def _grab(self, module, args, out):
        self.trace.append(out)

    def attach(self):
        for layer in self.gat.layers:
            layer.attn.register_forward_hook(self._grab)

    def explain(self, graphs):
        scores = []
        for g in graphs:
            g = g.to("cuda")
            out = self.gat(g.x, g.edge_index)
            scores.append(out.softmax(-1).max().item())
        return scores


if __name__ == "__main__":
    from models import build_gat

    net = build_gat().cuda()
    net.load_state_dict(torch.load("runs/gat/best.pth"))
    ex = Explainer(net)
    ex.attach()
    with open("test_graphs.pkl", "rb") as fh:
        graphs = pickle.load(fh)
    print(sum(ex.explain(graphs)) / len(graphs))
