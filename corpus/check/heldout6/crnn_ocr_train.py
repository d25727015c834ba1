import os
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from PIL import Image
from torchvision import transforms as T


class Lines(Dataset):
    def __init__(self, root, alphabet):
        self.items = [l.rstrip("\n").split("\t") for l in open(os.path.join(root, "labels.tsv"))]
        self.root, self.alphabet = root, alphabet
        self.tf = T.Compose([T.Grayscale(), T.Resize((32, 512)), T.ToTensor()])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        name, text = self.items[i]
        img = self.tf(Image.open(os.path.join(self.root, name)))
        ids = torch.tensor([self.alphabet.index(c) for c in text])
        return img.to("cuda"), ids


def collate(batch):
    imgs, ids = zip(*batch)
    return torch.stack(imgs), torch.cat(ids), torch.tensor([len(i) for i in ids])


def train(net, root, alphabet, epochs=30):
    loader = DataLoader(Lines(root, alphabet), 64, shuffle=True, num_workers=8, collate_fn=collate)
    net = nn.DataParallel(net).cuda()
    ctc = nn.CTCLoss(zero_infinity=True)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for ep in range(epochs):
        for imgs, ids, lens in loader:
            logp = net(imgs).log_softmax(-1).permute(1, 0, 2)
            ilen = torch.full((imgs.size(0),), logp.size(0))
            loss = ctc(logp, ids, ilen, lens)
            opt.zero_grad()
            loss.backward()
            opt.step()
        torch.save(net.module.state_dict(), f"crnn_{ep}.pt")
