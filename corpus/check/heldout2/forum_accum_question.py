# "My GPU only fits 4 images so I do it 8 times before the update. Is this right?"
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

data = datasets.ImageFolder("train", transforms.Compose([transforms.Resize((512, 512)), transforms.ToTensor()]))
loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=4)
model = models.resnet101(num_classes=12).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
lossf = torch.nn.CrossEntropyLoss()

for epoch in range(20):
    opt.zero_grad()
    for k in range(8):
        for img, lab in loader:
            out = model(img.cuda())
            loss = lossf(out, lab.cuda()) / 8
            loss.backward()
    opt.step()
    print("epoch", epoch, loss.item())
