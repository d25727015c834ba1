import sys

import torch
import torchvision
from PIL import Image
from torchvision.transforms.functional import pil_to_tensor, resize

torch.set_grad_enabled(False)
net = torchvision.models.resnet50(weights="DEFAULT").cuda()
net.eval()

for path in sys.argv[1:]:
    img = resize(pil_to_tensor(Image.open(path).convert("RGB")), [224, 224]).float().div(255)
    out = net(img[None].cuda())
    print(path, out.argmax(1).item())
