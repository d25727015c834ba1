# --- bad
import torch

torch.cuda.memory._record_memory_history()
for x, y in train_loader:
    step(x, y)
torch.cuda.memory._dump_snapshot('snapshot.pickle')
# --- good
import torch

torch.cuda.memory._record_memory_history(max_entries=100_000)
for x, y in train_loader:
    step(x, y)
torch.cuda.memory._dump_snapshot('snapshot.pickle')
# --- bad
import torch

def main(args):
    if args.profile_memory:
        torch.cuda.memory._record_memory_history(enabled='all', stacks='python')
    train(args)
# --- good
import torch

def main(args):
    if args.profile_memory:
        torch.cuda.memory._record_memory_history(enabled='all', stacks='python', max_entries=200_000)
    train(args)
# --- silent
import torch

def profile(model, x):
    torch.cuda.memory._record_memory_history()
    for _ in range(5):
        model(x).sum().backward()
    torch.cuda.memory._dump_snapshot('steps.pickle')
    torch.cuda.memory._record_memory_history(enabled=None)
# --- silent
import torch

torch.cuda.memory._record_memory_history(enabled=None)
# --- silent
import torch

torch.cuda.memory._record_memory_history(True, trace_alloc_max_entries=100000)
# --- silent
import torch

def repro(model, x):
    torch.cuda.memory._record_memory_history()
    model(x).sum().backward()
    torch.cuda.memory._dump_snapshot('repro.pickle')
    torch.cuda.memory._record_memory_history(enabled=None)
# --- silent
import torch

def start(**options):
    torch.cuda.memory._record_memory_history(**options)
