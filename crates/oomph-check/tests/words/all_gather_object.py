import torch
from torch import distributed


def gather_tensor(t):
    bufs = [torch.empty_like(t) for _ in range(distributed.get_world_size())]
    distributed.all_gather(bufs, t)  # <-
    return torch.cat(bufs, dim=0)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    all_logits = []
    for x, y in loader:
        logits = model(x.cuda())
        all_logits.append(gather_tensor(logits).cpu())
    return torch.cat(all_logits)
# ---
import torch
import torch.distributed as dist


def evaluate(model, loader, criterion, args):
    model.eval()
    outputs, targets = [], []
    with torch.no_grad():
        for img, lab in loader:
            img, lab = img.cuda(args.gpu), lab.cuda(args.gpu)
            outputs.append(model(img))
            targets.append(lab)
    outputs = torch.cat(outputs)
    gathered = [torch.zeros_like(outputs) for _ in range(args.world_size)]
    dist.all_gather(gathered, outputs)  # <-
    return torch.cat(gathered)
# ---
import torch
import torch.distributed as dist


@torch.no_grad()
def embed(model, loader):
    feats = []
    for x in loader:
        feats.append(model(x.cuda(non_blocking=True)))
    feats = torch.cat(feats, 0)
    world = dist.get_world_size()
    full = torch.empty(world * feats.size(0), feats.size(1), device='cuda')
    dist.all_gather_into_tensor(full, feats)  # <-
    return full
# ---
import torch
from accelerate import Accelerator


def main(model, val_loader):
    accelerator = Accelerator()
    model, val_loader = accelerator.prepare(model, val_loader)
    model.eval()
    preds = []
    for batch in val_loader:
        with torch.no_grad():
            out = model(**batch)
        preds.append(accelerator.gather_for_metrics(out.logits))  # <-
    return torch.cat(preds)
# ---
import torch
import lightning as L


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.seen = []

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x)
        self.seen.append(self.all_gather(logits).cpu())  # <-

    def on_validation_epoch_end(self):
        print(torch.cat(self.seen).mean())
        self.seen.clear()
# ---
import torch
import torch.distributed as dist


@torch.no_grad()
def test(net, loader, device):
    net.eval()
    feats, names = [], []
    for img, name in loader:
        feats.append(net(img.to(device)))
        names += name
    feats = torch.cat(feats)
    out = [None for _ in range(dist.get_world_size())]
    dist.all_gather_object(out, {'feats': feats, 'names': names})  # <-
    return out
# ---
import torch
import torch.distributed as dist
from torch.distributed import all_gather_object, get_world_size


@torch.inference_mode()
def generate_all(model, loader):
    mine = []
    for batch in loader:
        logits = model(batch['ids'].to('cuda')).logits
        mine.append((batch['id'], logits))
    theirs = [None] * get_world_size()
    all_gather_object(theirs, mine)  # <-
    return sum(theirs, [])
