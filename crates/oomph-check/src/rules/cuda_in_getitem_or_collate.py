# --- bad
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __getitem__(self, index):
        image = torch.load(self.paths[index])
        return image.cuda(), self.labels[index]

loader = DataLoader(Images(), batch_size=64, num_workers=8)
# --- good
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __getitem__(self, index):
        image = torch.load(self.paths[index])
        return image, self.labels[index]

loader = DataLoader(Images(), batch_size=64, num_workers=8, pin_memory=True)
for image, label in loader:
    image = image.cuda(non_blocking=True)
# --- bad
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

def pad(batch):
    texts = pad_sequence([torch.tensor(text) for text, _ in batch], batch_first=True)
    return texts.to(device), torch.tensor([label for _, label in batch], device=device)

loader = DataLoader(dataset, batch_size=32, collate_fn=pad, num_workers=args.workers)
# --- good
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

def pad(batch):
    texts = pad_sequence([torch.tensor(text) for text, _ in batch], batch_first=True)
    return texts, torch.tensor([label for _, label in batch])

loader = DataLoader(dataset, batch_size=32, collate_fn=pad, num_workers=args.workers)
for texts, labels in loader:
    texts, labels = texts.to(device), labels.to(device)
# --- bad
import torch
from torch.utils.data import DataLoader

class Collator:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, rows):
        encoded = self.tokenizer(rows, return_tensors='pt')
        return {name: value.to('cuda') for name, value in encoded.items()}

def make_loader(rows, tokenizer):
    return DataLoader(rows, 32, collate_fn=Collator(tokenizer), num_workers=2)
# --- good
import torch
from torch.utils.data import DataLoader

class Collator:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, rows):
        return self.tokenizer(rows, return_tensors='pt')

def make_loader(rows, tokenizer):
    return DataLoader(rows, 32, collate_fn=Collator(tokenizer), num_workers=2)
# --- bad
import torch
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def place(self, value):
        return value.cuda(non_blocking=True)

    def __iter__(self):
        for line in open('train.txt'):
            yield self.place(torch.tensor([int(word) for word in line.split()]))

loader = DataLoader(Stream(), batch_size=None, num_workers=4)
# --- good
import torch
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __iter__(self):
        for line in open('train.txt'):
            yield torch.tensor([int(word) for word in line.split()])

loader = DataLoader(Stream(), batch_size=None, num_workers=4, pin_memory=True)
# --- silent
import torch
from torch.utils.data import DataLoader

class Mover:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        for batch in self.loader:
            yield batch.cuda()

batches = Mover(DataLoader(dataset, num_workers=4))
# --- silent
import torch
from torch.utils.data import DataLoader

device = torch.device('cuda')

def collate_batch(batch):
    return torch.stack(batch).to(device)

loader = DataLoader(dataset, batch_size=8, collate_fn=collate_batch)
# --- silent
import torch
from torch.utils.data import Dataset

class Images(Dataset):
    def __getitem__(self, index):
        return self.images[index].to(torch.float32)
# --- silent
import torch
from torch.utils.data import DataLoader

num_workers = 0

def collate(batch):
    return torch.stack(batch).cuda()

loader = DataLoader(dataset, collate_fn=collate, num_workers=num_workers)
