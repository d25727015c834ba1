"""Transfer learning exercise: flowers with VGG16, only the classifier trains."""
import torch
import torchvision
from torch import nn, optim
from torchvision import transforms as T

DEVICE = torch.device("cuda:0")
tf = T.Compose([T.Resize((224, 224)), T.ToTensor()])
train = torchvision.datasets.ImageFolder("flowers/train", tf)
loader = torch.utils.data.DataLoader(train, batch_size=64, shuffle=True, num_workers=2)

vgg = torchvision.models.vgg16(weights="DEFAULT")
for prm in vgg.features.parameters():
    prm.require_grad = False
vgg.classifier[6] = nn.Linear(4096, len(train.classes))
vgg.to(DEVICE)

opt = optim.SGD(vgg.parameters(), lr=0.001, momentum=0.9)
criterion = nn.CrossEntropyLoss()


def train_epoch(epoch):
    seen, total = 0, 0.0
    for i, (img, lab) in enumerate(loader):
        img, lab = img.to(DEVICE), lab.to(DEVICE)
        opt.zero_grad
        out = vgg(img)
        loss = criterion(out, lab)
        loss.backward()
        opt.step()
        total += loss.item() * img.size(0)
        seen += img.size(0)
        torch.cuda.empty_cache()
    print("epoch %d loss %.4f" % (epoch, total / seen))


for e in range(5):
    train_epoch(e)
torch.save(vgg.state_dict(), "vgg_flowers.pt")
