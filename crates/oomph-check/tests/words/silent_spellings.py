import torch
import torch.nn.functional as F
def targets(labels, classes):
    return F.one_hot(labels, classes).float()
def fit(model, loader, opt):
    for x, y in loader:
        loss = F.binary_cross_entropy_with_logits(model(x.cuda()), targets(y.cuda(), 10))
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
def votes(labels, similarity, classes=10):
    weight, index = similarity.topk(20)
    return (torch.eye(classes, device=labels.device)[labels[index]] * weight.unsqueeze(-1)).sum(1)
# ---
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(4)])
        self.hidden = None
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        self.hidden = x
        return x.mean(-1)
def penalty(net):
    return net.hidden.pow(2).mean()
# ---
import copy
def compare(models, loader, device):
    best = None
    for model in models:
        score = sum(model(x).mean().item() for x in loader)
        if best is None or score > best[0]:
            best = (score, copy.deepcopy(model))
    return best
# ---
import torch
from zoo import build
def compare(names, image):
    with torch.no_grad():
        for name in names:
            net = build(name).cuda().eval()
            print(name, net(image.cuda()).argmax().item())
            del net
            torch.cuda.empty_cache()
# ---
import torch
def compare(net, datasets, evaluate):
    for dataset in datasets:
        with torch.no_grad():
            print(evaluate(net, dataset))
        torch.cuda.empty_cache()
# ---
import torch
def greedy(model, ids, steps):
    with torch.no_grad():
        for _ in range(steps):
            scores = model(ids.cuda())[:, -1:]
            ids = torch.cat([ids, scores.argmax(-1)], dim=1)
    return ids
# ---
import torch
class Worker:
    RECENT = {}
    def __init__(self, net, queue):
        self.net, self.queue = net.cuda().eval(), queue
    @torch.no_grad()
    def handle(self, job):
        Worker.RECENT[job.id] = self.net(job.x.cuda())
        return Worker.RECENT.pop(job.id).argmax().item()
    def serve(self):
        while True:
            job = self.queue.get()
            print(self.handle(job))
# ---
import torch
class Features:
    def __init__(self, net, names):
        self.net, self.names = net.eval(), names
    def __call__(self, x):
        found, handles = [], []
        for name, layer in self.net.named_modules():
            if name in self.names:
                handles.append(layer.register_forward_hook(lambda m, i, o: found.append(o)))
        with torch.no_grad():
            self.net(x)
        for handle in handles:
            handle.remove()
        return found
# ---
import torch
norms = []
def keep(module, inputs, output):
    norms.append(output.norm().item())
def fit(net, loader, opt):
    net.layer1.register_forward_hook(keep)
    for x, y in loader:
        loss = F.mse_loss(net(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
from functools import lru_cache
class Frames(torch.utils.data.Dataset):
    def __init__(self, files):
        self.files = files
    @lru_cache(maxsize=8)
    def read(self, index):
        return torch.load(self.files[index], map_location="cpu")
    def __getitem__(self, index):
        return self.read(index // 100)[index % 100]
# ---
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments
def main(data, metrics):
    model = AutoModelForSeq2SeqLM.from_pretrained("t5-base")
    args = Seq2SeqTrainingArguments("out", eval_strategy="steps", predict_with_generate=True)
    Seq2SeqTrainer(model, args, train_dataset=data, eval_dataset=data, compute_metrics=metrics).train()
# ---
import torch
def run(model, x):
    try:
        return model(x.cuda())
    except RuntimeError as error:
        if not any(word in str(error) for word in ("out of memory", "device-side assert")):
            raise
        return None
# ---
import torch
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
def save(model, path, rank):
    config = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
        state = model.state_dict()
    if rank == 0:
        torch.save(state, path)
# ---
import lightning as L
class Outputs(L.Callback):
    def __init__(self):
        self.outputs = []
    def on_validation_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.outputs.append(outputs)
    def on_validation_epoch_end(self, trainer, module):
        print(len(self.outputs))
        self.outputs.clear()
# ---
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
class Net(nn.Module):
    def __init__(self, backbone, decoder, width):
        super().__init__()
        self.backbone, self.decoder = backbone, decoder
        self.head = nn.Linear(width, 2)
    def forward(self, x):
        h = checkpoint(self.backbone, x, use_reentrant=False)
        return self.head(self.decoder(h))
# ---
import torch
import torch.nn.functional as F
def fit(net, loader, opt):
    window = []
    for x, y in loader:
        loss = F.cross_entropy(net(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        window.append(loss.item())
        if len(window) == 8:
            print(sum(window) / 8)
            window.clear()
# ---
import torch
class Bank:
    def __init__(self, size):
        self.size = size
        self.queue = torch.empty(0, 128)
    def add(self, features):
        self.queue = torch.cat([self.queue, features])
        self.queue = self.queue[-self.size:]
@torch.no_grad()
def fill(net, loader):
    bank = Bank(4096)
    for x, _ in loader:
        bank.add(net(x.cuda()))
    return bank
# ---
import torch
def load(path):
    checkpoint = torch.load(path, map_location="cpu")
    net = checkpoint["class"](**checkpoint["settings"]).cuda()
    net.load_state_dict(checkpoint["weights"])
    return net
# ---
import torch
class Beam:
    def __init__(self, scorer, names):
        self.scorer, self.names = scorer, names
    def widen(self, scores, k=10):
        found = torch.empty(0, len(self.names))
        for index in scores.topk(k).indices:
            found = torch.cat([found, self.scorer(index)], dim=0)
        return found
# ---
import torch
from torch import nn
class Video(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
    def encode(self, clip):
        out = None
        for i in range(clip.shape[2]):
            part = self.encoder(clip[:, :, i].cuda())
            out = part if out is None else torch.cat([out, part], 2)
            torch.cuda.empty_cache()
        return out
# ---
import numpy as np
import torch
def get_batch(data, size, length):
    starts = torch.randint(len(data) - length, (size,))
    x = torch.stack([torch.from_numpy(data[i:i + length].astype(np.int64)) for i in starts])
    return x.pin_memory().to("cuda", non_blocking=True)
def fit(model, data, opt, steps):
    for _ in range(steps):
        loss = model(get_batch(data, 12, 1024))
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import numpy as np
words = "the cat sat on the mat".split()
vocab_size = len(set(words))
def hot(index):
    return np.eye(vocab_size)[index]
# ---
import torch
def train(model, loader, opt):
    history = []
    for x, y in loader:
        loss = model(x.cuda(), y.cuda())
        opt.zero_grad()
        loss.backward()
        history.append([p.grad.norm().item() for p in model.parameters()])
        opt.step()
    return history
# ---
import torch
def gather(clients, loader, opt):
    for x, y in loader:
        grads = []
        for client in clients:
            client.zero_grad()
            client(x.cuda(), y.cuda()).backward()
            grads.append([p.grad for p in client.parameters()])
        for ours, theirs in zip(opt.param_groups[0]["params"], zip(*grads)):
            ours.grad = torch.stack(theirs).mean(0)
        opt.step()
# ---
import torch
def fit(model, x, y):
    opt = torch.optim.Adam(model.parameters())
    for _ in range(200):
        loss = (model(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
def sweep(make, loader):
    for x, y in loader:
        fit(make().cuda(), x.cuda(), y.cuda())
# ---
import torch
from dataclasses import dataclass
@dataclass
class Record:
    step: int
    loss: float
def train(model, loader, opt):
    records = []
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        records.append(Record(step, loss.item()))
    return records
# ---
import torch
class Memory:
    items = []
    @classmethod
    def push(cls, value):
        cls.items.append(value)
def train(model, loader, opt):
    for x, y in loader:
        out = model(x.cuda())
        loss = torch.nn.functional.cross_entropy(out, y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        Memory.push(out.argmax(1).tolist())
# ---
import contextlib
import torch
def train(model, loader, opt):
    for x, y in loader:
        with contextlib.suppress(StopIteration):
            loss = model(x.cuda(), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
# ---
import copy, torch
import torch.nn.functional as F
def dqn(net, target, memory, opt):
    s, a, r, s2 = memory.sample(32)
    q = net(s.cuda()).gather(1, a.cuda())
    with torch.no_grad():
        nxt = target(s2.cuda()).max(1).values
    loss = F.mse_loss(q.squeeze(1), r.cuda() + nxt)
    opt.zero_grad(), loss.backward(), opt.step()
# ---
import copy, torch
class Agent:
    def __init__(self, net):
        self.online = net.cuda()
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.opt = torch.optim.Adam(self.online.parameters(), lr=1e-4)
    def learn(self, s, s2):
        q = self.online(s.cuda())
        nxt = self.target(s2.cuda()).max(1).values
        loss = (q.max(1).values - nxt).pow(2).mean()
        self.opt.zero_grad(), loss.backward(), self.opt.step()
# ---
import copy, torch
def pretrain_then_tune(net, loader):
    start = copy.deepcopy(net).cuda()
    opt = torch.optim.Adam(start.parameters())
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(start(x.cuda()), y.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import copy
import torch
def compare(net, x, y, update):
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(100):
        opt.zero_grad()
        trial = copy.deepcopy(net)
        loss = torch.nn.functional.mse_loss(trial(x.cuda()), y.cuda())
        update(loss, list(trial.parameters()))
        torch.nn.functional.mse_loss(net(x.cuda()), y.cuda()).backward()
        opt.step()
# ---
import torch
from torch import nn

critic = nn.Linear(64, 1)

def play(env, steps):
    values = []
    state = env.reset()
    for _ in range(steps):
        values.append(critic(torch.as_tensor(state)))
        state, reward, done, info = env.step(0)
    return values

def learn(env, optimizer):
    values = play(env, 1000)
    loss = torch.stack(values).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# ---
import torch

def fit(model, loader, optimizer, criterion, every):
    for i, (x, y) in enumerate(loader):
        (criterion(model(x.cuda()), y.cuda()) / every).backward()
        if (i + 1) % every == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
# ---
import torch
import torch.distributed as dist

def mean_of(losses):
    with torch.no_grad():
        names, values = [], []
        for name in sorted(losses.keys()):
            names.append(name)
            values.append(losses[name])
        values = torch.stack(values, dim=0)
        dist.reduce(values, dst=0)
        return {name: value for name, value in zip(names, values)}

def train(model, loader, optimizer):
    for x, y in loader:
        losses = model(x.cuda(), y.cuda())
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(mean_of(losses))
# ---
import torch
from rewards import reward_of
from trl import PPOTrainer

def run(config, policy, scorer, texts):
    scorer = scorer.cuda().eval()
    trainer = PPOTrainer(config, policy)
    for batch in trainer.dataloader:
        answers = trainer.generate(batch["input_ids"])
        scores = scorer(answers.cuda())
        trainer.step(batch["input_ids"], answers, [score.item() for score in scores])
# ---
import torch

def returns_of(critic, rewards, states, gamma):
    values = critic(states.cuda())
    kept = []
    for i in range(len(rewards)):
        kept.append(rewards[i] + gamma * values[i])
    return values, torch.stack(kept).detach()

def update(critic, optimizer, rewards, states):
    values, wanted = returns_of(critic, rewards, states, 0.99)
    loss = (values - wanted).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# ---
import torch
from torch.utils.data import DataLoader

def collate(batch, device="cpu"):
    return torch.stack(batch).to(device)

def loaders(data):
    return DataLoader(data, batch_size=8, num_workers=4, collate_fn=collate)
# ---
import torch
from monai.networks.utils import eval_mode

def measure(model, loader):
    right = 0
    with eval_mode(model):
        for x, y in loader:
            right += (model(x.cuda()).argmax(1) == y.cuda()).sum().item()
    return right
# ---
import lightning as L
import torch

class Nowcast(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        torch.autograd.set_detect_anomaly(True)
        self.net = net

    def training_step(self, batch, index):
        loss = self.net(batch).mean()
        self.manual_backward(loss)
        return loss
# ---
import torch

def train(model, loader, optimizer, criterion):
    for baskets in loader:
        loss = 0
        h = None
        optimizer.zero_grad()
        for j in range(baskets.shape[1] - 1):
            logits, h = model(baskets[:, j].cuda(), h=h)
            loss += criterion(logits, baskets[:, j + 1].cuda())
        loss.backward()
        optimizer.step()
