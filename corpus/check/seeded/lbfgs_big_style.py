import torch
import torchvision


def style(img, target, steps=300):
    net = torchvision.models.vgg19(weights="DEFAULT").cuda()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (net(img.cuda()) - target.cuda()).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
