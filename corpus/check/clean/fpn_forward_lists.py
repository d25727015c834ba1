import torch.nn as nn
import torch.nn.functional as F


class FPN(nn.Module):
    def __init__(self, widths, out):
        super().__init__()
        self.lateral, self.smooth = nn.ModuleList(), nn.ModuleList()
        for w in widths:
            self.lateral.append(nn.Conv2d(w, out, 1))
            self.smooth.append(nn.Conv2d(out, out, 3, padding=1))

    def forward(self, feats):
        results = []
        last = None
        for i in range(len(feats) - 1, -1, -1):
            cur = self.lateral[i](feats[i])
            if last is not None:
                cur = cur + F.interpolate(last, size=cur.shape[-2:])
            last = cur
            results.insert(0, self.smooth[i](cur))
        return results
