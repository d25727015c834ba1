import torch
from monai.losses import DiceLoss
from monai.networks.nets import UNet

from ct_data import train_loader, val_loader


def dice_per_case(model, loader, device):
    model.eval()
    scores = []
    for case in loader:
        pred = model(case["image"].to(device))
        inter = (pred.argmax(1) * case["label"].to(device)).sum()
        size = pred.argmax(1).sum() + case["label"].sum()
        scores.append(2 * inter.item() / (size.item() + 1e-6))
    return sum(scores) / len(scores)


def main():
    device = torch.device("cuda")
    model = UNet(3, 1, 2, (32, 64, 128, 256, 320), (2, 2, 2, 2)).to(device)
    opt = torch.optim.SGD(model.parameters(), 1e-2, momentum=0.99, nesterov=True)
    loss_fn = DiceLoss(to_onehot_y=True, softmax=True)
    for epoch in range(300):
        model.train
        for case in train_loader():
            opt.zero_grad
            loss = loss_fn(model(case["image"].to(device)), case["label"].to(device))
            loss.backward()
            opt.step()
        print(epoch, dice_per_case(model, val_loader(), device))


if __name__ == "__main__":
    main()
