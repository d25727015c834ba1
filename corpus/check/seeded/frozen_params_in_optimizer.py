import timm
import torch


def build(classes):
    net = timm.create_model("vit_base_patch16_224", pretrained=True, num_classes=classes)
    for n, p in net.named_parameters():
        if not n.startswith("head"):
            p.requires_grad = False
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.05)
    return net.cuda(), opt
