import timm
import torch


def build(classes, train_blocks=2):
    vit = timm.create_model("vit_large_patch16_224", pretrained=True, num_classes=classes)
    for name, weight in vit.named_parameters():
        weight.require_grad = "head" in name
    for block in vit.blocks[-train_blocks:]:
        for weight in block.parameters():
            weight.requires_grads = True
    return vit.cuda()


def optimizer(vit):
    chosen = [w for w in vit.parameters() if w.requires_grad]
    return torch.optim.AdamW(chosen, lr=1e-4)
