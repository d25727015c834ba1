import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PAD = torch.zeros(1, 512).cuda()
MAX_CANDIDATES = 2000
