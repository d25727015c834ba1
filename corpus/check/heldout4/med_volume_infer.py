"""Whole-body CT, patch by patch; Dice over the test set."""
import nibabel as nib
import torch

from ctseg import ResEncUNet, patches, paste

N_ORGANS = 104


def load_case(path):
    vol = nib.load(path).get_fdata()
    return torch.as_tensor(vol).to("cuda")


@torch.inference_mode()
def segment(net, vol):
    preds, where = [], []
    for patch, pos in patches(vol, 128, overlap=0.5):
        logits = net(patch[None, None].float())
        preds.append(logits.squeeze(0))
        where.append(pos)
    return paste(torch.stack(preds), where, vol.shape).argmax(0)


def dice(pred, gt):
    p = torch.eye(N_ORGANS, device=pred.device)[pred]
    g = torch.eye(N_ORGANS, device=pred.device)[gt]
    inter = (p * g).flatten(0, 2).sum(0)
    return 2 * inter / (p.flatten(0, 2).sum(0) + g.flatten(0, 2).sum(0) + 1e-6)


def main(cases):
    net = ResEncUNet(N_ORGANS)
    net.load_state_dict(torch.load("ct.pt", map_location="cpu", weights_only=True))
    net = net.cuda().eval()
    scores = []
    for img, lab in cases:
        seg = segment(net, load_case(img))
        gt = torch.as_tensor(nib.load(lab).get_fdata()).long().cuda()
        scores.append(dice(seg, gt).cpu())
        print(img, scores[-1].mean().item())
    print("mean", torch.stack(scores).mean().item())
