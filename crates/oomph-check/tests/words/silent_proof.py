import torch
from torch.utils.data import DataLoader
device = torch.device("cuda")
def pad(batch):
    images = [item["image"] for item in batch]
    width = max(image.shape[-1] for image in images)
    padded = []
    for image in images:
        c, h, w = image.shape
        wide = torch.zeros(c, h, width, dtype=image.dtype, device=image.device)
        wide[:, :, :w] = image
        padded.append(wide)
    return torch.stack(padded)
def loader(dataset):
    return DataLoader(dataset, batch_size=8, num_workers=4, collate_fn=pad)
# ---
import torch
import torch.multiprocessing as mp
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
def worker(rank, world_size, dataset, model, optimizer, criterion):
    init_process_group(backend="nccl", rank=rank, world_size=world_size)
    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True, sampler=DistributedSampler(dataset))
    model = DDP(model.to(rank), device_ids=[rank])
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x.to(rank)), y.to(rank))
        loss.backward()
        optimizer.step()
# ---
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
def wrap(build):
    dist.init_process_group(backend="nccl", init_method="tcp://127.0.0.1:9999", world_size=1, rank=0)
    model = build().cuda()
    return DistributedDataParallel(model)
# ---
import torch
def train(model, loader, criterion, optimizer):
    model.train()
    total, total_pattern, total_rate = 0.0, 0.0, 0.0
    for x, y in loader:
        optimizer.zero_grad()
        losses = criterion(model(x), y)
        losses["total"].backward()
        optimizer.step()
        total += losses["total"].item() * x.size(0)
        total_pattern += losses["pattern_loss"] * x.size(0)
        total_rate += losses["success_rate"] * x.size(0)
    return total, total_pattern, total_rate
# ---
import torch
from torch import optim
class Base:
    def set_model_eval_mode(self):
        self.model.eval()
        for parameter in self.model.parameters():
            parameter.requires_grad = False
    def set_model_train_mode(self):
        self.model.train()
        for parameter in self.model.parameters():
            parameter.requires_grad = True
class Embeddings(Base):
    def __init__(self, model):
        self.model = model
    def fit(self, loader, rate):
        self.set_model_eval_mode()
        first = 0
        for x, y in loader:
            first += self.model.loss(self.model(x), y)
        print(first)
        self.set_model_train_mode()
        optimizer = optim.Adam(self.model.parameters(), lr=rate)
        for x, y in loader:
            optimizer.zero_grad()
            loss = self.model.loss(self.model(x), y)
            loss.backward()
            optimizer.step()
        self.set_model_eval_mode()
        last = 0
        for x, y in loader:
            last += self.model.loss(self.model(x), y)
        print(f"{first - last:.3f}")
# ---
import torch
from skimage.metrics import peak_signal_noise_ratio

def train(net, psnr_model, loader, optimizer, criterion):
    ratios = []
    for low, high in loader:
        optimizer.zero_grad()
        made = net(low.cuda())
        criterion(made, high.cuda()).backward()
        optimizer.step()
        ratio = psnr_model(high[0].cpu().numpy(), made[0].detach().cpu().numpy())
        ratios.append(ratio)
        del ratio
    return sum(ratios) / len(ratios)

def start(net, loader, optimizer, criterion):
    return train(net, peak_signal_noise_ratio, loader, optimizer, criterion)
# ---
import torch
def train(model, loader, optimizer, criterion):
    shown = []
    for epoch in range(20):
        for step, (x, y) in enumerate(loader):
            out = model(x.cuda())
            if step == 0:
                shown.append(out[0])
            optimizer.zero_grad()
            criterion(out, y.cuda()).backward()
            optimizer.step()
    return shown
# ---
import torch
def denoising_score_loss(model, x):
    noise = torch.randn_like(x)
    return ((model(x + noise) + noise) ** 2).mean()

def summed_score_loss(model, x, n=20):
    loss = denoising_score_loss(model, x)
    for _ in range(1, n):
        loss += denoising_score_loss(model, x)
    return loss / n
# ---
import torch
from torch import nn

class Counts(nn.Module):
    def forward(self, scores, labels):
        right = (scores > 0) & labels.bool()
        return torch.stack([right.sum(), labels.bool().sum()])

class Runner:
    def __init__(self, model):
        self.model = model.cuda()
        self.counts = Counts()

    def test_step(self, batch):
        record = {}
        record["counts"] = self.counts(scores=self.model(batch[0].cuda()), labels=batch[1].cuda())
        return record

    def run(self, loader):
        found = []
        for batch in loader:
            found.append(self.test_step(batch))
        return found
# ---
import torch
def eval_f1(args, model, loader):
    pairs = 0
    for x, y in loader:
        pairs += (model(x.cuda()).argmax(1) == y.cuda()).sum().item()
    return pairs

def eval_accuracy(args, model, loader):
    right = 0
    for x, y in loader:
        right += (model(x.cuda()).argmax(1) == y.cuda()).sum().item()
    return right

def train(args, model, loader, dev, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        if args.dataset == "wiki":
            evaluate = eval_accuracy
        else:
            evaluate = eval_f1
        return evaluate(args, model, dev)
# ---
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    @torch.inference_mode()
    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
        return weights @ v
# ---
import torch
from featurelib.zoo import build_backbone
from torch.utils.data import DataLoader

def collect(pictures, device):
    backbone = build_backbone("vit").to(device).eval()
    loader = DataLoader(pictures, batch_size=64)
    kept = []
    with torch.no_grad():
        first = backbone(next(iter(loader)).to(device))
    for batch in loader:
        kept.append(backbone(batch.to(device)))
    return first, torch.cat(kept)
# ---
import torch
from torch import nn
from surgery.tools import strip
from torch.utils.data import DataLoader

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
    def forward(self, x):
        return self.layer(x)

def collect(rows):
    net = Net().cuda()
    strip(net)
    kept = []
    for batch in DataLoader(rows, batch_size=64):
        kept.append(net(batch.cuda()))
    return torch.cat(kept)
# ---
import torch

def train(model, loader, optimizer):
    total, rate = 0.0, 0.0
    for x, y in loader:
        loss, side_loss = model.loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        rate += side_loss
    return total, rate
# ---
import torch

def train(model, criterion, loader, optimizer, sums):
    for x, y in loader:
        losses = criterion(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        losses["all"].backward()
        optimizer.step()
        for name, value in losses.items():
            if isinstance(value, torch.Tensor):
                sums[name] += value.item()
            else:
                sums[name] += value
# ---
import torch
from itertools import cycle

def train(model, loader, criterion, optimizer, tasks):
    newest = {task: None for task in tasks}
    for batch, task in zip(loader, cycle(tasks)):
        newest[task] = criterion(model(batch["x"].cuda(), task), batch["y"].cuda())
        optimizer.zero_grad()
        newest[task].backward()
        optimizer.step()
# ---
import torch

def fit(model, points, targets, criterion, optimizer, shown):
    curves = []
    for step in range(1000):
        optimizer.zero_grad()
        loss = criterion(model(points), targets)
        loss.backward()
        optimizer.step()
        if step in shown:
            curves.append(model(points))
    return [curve.detach().cpu() for curve in curves]
# ---
import torch

def train(model, loader, optimizer, criterion):
    state = None
    for x, y in loader:
        out, state = model(x.cuda(), state)
        loss = criterion(out, y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# ---
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, rows, place="cpu"):
        self.rows, self.place = rows, place
    def __getitem__(self, index):
        return torch.as_tensor(self.rows[index]).to(self.place)

def pad(batch, device="cpu"):
    return torch.stack(batch).to(device), torch.zeros(len(batch), device=batch[0].device)

device = "cuda"
loader = DataLoader(Rows([[1.0]]), batch_size=8, num_workers=4, collate_fn=pad)
for x, _ in loader:
    x = x.to(device)
# ---
import torch
from torch import nn

class Detector(nn.Module):
    def __init__(self, trains):
        super().__init__()
        self.trains = trains
        self.body = nn.Conv2d(3, 8, 3)
    @torch.no_grad()
    def detect(self, x):
        return self.body(x).amax((2, 3))
    def forward(self, x):
        if not self.trains:
            return self.detect(x)
        return self.body(x)

class Wide(Detector):
    pass

def build(wide):
    if wide:
        found = Wide(trains=False)
    else:
        found = Detector(trains=False)
    return found

def show(net, loader):
    net.eval()
    for x in loader:
        print(net(x.cuda()).argmax(1))

def main(args, loader):
    show(build(args.wide).cuda(), loader)
# ---
import torch

def surface(model, x, y, moves, criterion):
    def slope(move):
        move.requires_grad_(True)
        criterion(model(x + move), y).backward()
        return move.grad.sign()
    first = slope(torch.zeros_like(x))
    heights = torch.zeros(len(moves))
    for index, move in enumerate(moves):
        loss = criterion(model(x + move * first), y)
        heights[index] = loss
    return heights.detach().cpu().numpy()
# ---
import torch
from torch import nn

seen = []

def watch(part):
    part.register_forward_hook(lambda module, given, result: seen.append(result))

def fit(student, other, loader, optimizer, criterion):
    watch(other.head)
    with torch.no_grad():
        other(torch.zeros(1, 8).cuda())
    for x, y in loader:
        loss = criterion(student(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return seen
# ---
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
model.eval()
shapes = []
for images, labels in loader:
    out = model(images.cuda())
    shapes.append(out)
    print(out.shape)
    break
# ---
import torch

def test(model, loader, criterion, options):
    model.eval()
    total = 0
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        x = x + options["attack"](model, x, y)
        total += criterion(model(x), y).item()
    return total
