"""An attack needs gradients in evaluation mode."""
import torch
import torchvision
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from torchvision.transforms import Compose, Resize, ToTensor

net = torchvision.models.resnet18(weights="DEFAULT").cuda().eval()
for p in net.parameters():
    p.requires_grad_(False)
dl = DataLoader(torchvision.datasets.ImageFolder("val", Compose([Resize((224, 224)), ToTensor()])), 32)

fooled = seen = 0
for x, y in dl:
    x, y = x.cuda().requires_grad_(), y.cuda()
    loss = cross_entropy(net(x), y)
    (g,) = torch.autograd.grad(loss, x)
    with torch.no_grad():
        adv = (x + 0.03 * g.sign()).clamp(0, 1)
        fooled += (net(adv).argmax(1) != y).sum().item()
    seen += len(y)
print(fooled / seen)
