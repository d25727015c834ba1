"""A metric whose networks take themselves out of training makes no graph; one that does not makes one."""
import torch
from tqdm import tqdm

from learnt import judged
from perceptual import distance


def compare(renders, truths):
    far, near = [], []
    for index in tqdm(range(len(renders))):
        d = distance(renders[index].cuda(), truths[index].cuda())
        far.append(d)
    for index in tqdm(range(len(renders))):
        j = judged(renders[index].cuda(), truths[index].cuda())
        near.append(j)  # <- tensor-stored-in-container-with-graph
    print(torch.tensor(far).mean().item(), torch.stack(near).mean().item())
