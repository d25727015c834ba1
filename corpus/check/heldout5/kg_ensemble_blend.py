import torch
from torch.utils.data import DataLoader
from competition.models import registry
from competition.data import TestSet


class Ensemble(torch.nn.Module):
    def __init__(self, specs):
        super().__init__()
        self.members = torch.nn.ModuleList()
        for arch, path in specs:
            net = registry[arch]()
            ckpt = torch.load(path, weights_only=False)
            net.load_state_dict(ckpt["model"])
            self.members.append(net)

    def forward(self, x):
        return torch.stack([m(x) for m in self.members]).mean(0)


def main(specs, out):
    ens = torch.nn.DataParallel(Ensemble(specs)).cuda().train(False)
    ids, rows = [], []
    for batch in DataLoader(TestSet("test"), batch_size=64, num_workers=8):
        logits = ens(batch["image"].cuda())
        rows.append(logits.sigmoid().data.cpu())
        ids += batch["id"]
    torch.save({"ids": ids, "scores": torch.cat(rows)}, out)


if __name__ == "__main__":
    main([("a", "a.ckpt"), ("b", "b.ckpt")], "blend.pt")
