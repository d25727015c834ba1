import torch


def transfer(vgg, content, steps=300):
    """The picture is what is trained; the network only reads it."""
    vgg.eval()
    image = content.clone().cuda().requires_grad_(True)
    opt = torch.optim.Adam([image], lr=0.02)
    with torch.no_grad():
        target = vgg(content.cuda())
    for _ in range(steps):
        opt.zero_grad()
        loss = (vgg(image) - target).pow(2).mean()
        loss.backward()
        opt.step()
    return image.detach().cpu()
