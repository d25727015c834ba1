import torch
import torchvision as tv
from torch.utils.data import DataLoader

backbone = tv.models.resnet18(weights="DEFAULT").cuda()
backbone.fc = torch.nn.Identity()
backbone.eval()  # eval mode so that no gradients are stored

tf = tv.transforms.Compose([tv.transforms.Resize(224), tv.transforms.ToTensor()])
gal = DataLoader(tv.datasets.STL10(".", "train", transform=tf, download=True), 128)
qry = DataLoader(tv.datasets.STL10(".", "test", transform=tf, download=True), 128)


def collect(dl):
    bank = torch.empty(0, 512).cuda()
    ys = []
    for x, y in dl:
        f = backbone(x.cuda())
        bank = torch.cat((bank, f))
        ys.append(y)
    return bank, torch.cat(ys)


def nearest(q, g, k=20):
    d = ((q[:, None, :] - g[None, :, :]) ** 2).sum(-1)
    return d.topk(k, largest=False).indices


gf, gy = collect(gal)
qf, qy = collect(qry)
votes = gy[nearest(qf, gf).cpu()]
print((votes.mode(1).values == qy).float().mean())
