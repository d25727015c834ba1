import torch
from torch import nn


class ImagePool:
    """Keeps fifty older fakes for the discriminator."""

    def __init__(self, size=50):
        self.size, self.images = size, []

    def query(self, img):
        if len(self.images) < self.size:
            self.images.append(img)
            return img
        k = torch.randint(self.size, ()).item()
        old, self.images[k] = self.images[k], img
        return old.detach()


def train(Gab, Gba, Da, Db, loader, epochs):
    mse, l1 = nn.MSELoss(), nn.L1Loss()
    og = torch.optim.Adam(list(Gab.parameters()) + list(Gba.parameters()), 2e-4)
    od = torch.optim.Adam(list(Da.parameters()) + list(Db.parameters()), 2e-4)
    pa, pb = ImagePool(), ImagePool()
    for ep in range(epochs):
        for a, b in loader:
            a, b = a.cuda(), b.cuda()
            fb, fa = Gab(a), Gba(b)
            da, db = Da(fa), Db(fb)
            lg = mse(da, torch.ones_like(da)) + mse(db, torch.ones_like(db))
            lg = lg + 10 * (l1(Gba(fb), a) + l1(Gab(fa), b))
            og.zero_grad()
            lg.backward(retain_graph=True)
            ra, rb = Da(a), Db(b)
            sa, sb = Da(pa.query(fa)), Db(pb.query(fb))
            ld = mse(ra, torch.ones_like(ra)) + mse(sa, torch.zeros_like(sa)) + mse(rb, torch.ones_like(rb)) + mse(sb, torch.zeros_like(sb))
            od.zero_grad()
            ld.backward()
            og.step()
            od.step()
        torch.save([m.state_dict() for m in (Gab, Gba, Da, Db)], "horses.pt")
