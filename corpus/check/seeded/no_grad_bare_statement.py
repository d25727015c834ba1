import torch
from tqdm import tqdm


def evaluate(net, dataloader, device, amp):
    net.eval()
    torch.no_grad()
    dice = 0
    for batch in tqdm(dataloader, leave=False):
        image, true = batch["image"].to(device), batch["mask"].to(device)
        pred = (torch.sigmoid(net(image)) > 0.5).float()
        dice += (2 * (pred * true).sum() / (pred.sum() + true.sum() + 1e-6)).item()
    net.train()
    return dice / max(len(dataloader), 1)
