# --- bad
import numpy as np
import torch

def weights():
    even = np.ones(1000) / 1000
    return torch.tensor(even).cuda()
# --- good
import numpy as np
import torch

def weights():
    even = np.ones(1000, dtype=np.float32) / 1000
    return torch.tensor(even).cuda()
# --- bad
import numpy as np
import torch

noise = torch.from_numpy(np.random.randn(64, 3, 224, 224)).cuda()
# --- good
import torch

noise = torch.randn(64, 3, 224, 224, device='cuda')
# --- bad
import numpy as np
import torch

device = torch.device('cuda')
grid = torch.tensor(np.linspace(0, 1, 1_000_000)).to(device)
# --- good
import numpy as np
import torch

device = torch.device('cuda')
grid = torch.tensor(np.linspace(0, 1, 1_000_000), dtype=torch.float32).to(device)
# --- bad
import numpy as np
import torch

rng = np.random.default_rng(0)

def noise(n):
    drawn = torch.from_numpy(rng.standard_normal((n, 3)))
    return drawn.cuda()
# --- good
import numpy as np
import torch

rng = np.random.default_rng(0)

def noise(n):
    drawn = torch.from_numpy(rng.standard_normal((n, 3), dtype=np.float32))
    return drawn.cuda()
# --- silent
import numpy as np
import torch

def noise(n):
    drawn = torch.from_numpy(np.random.randn(n, 3))
    drawn = drawn.float()
    return drawn.cuda()
# --- silent
import numpy as np
import torch

def shift(n):
    affine = torch.zeros(n, 2, 3).cuda()
    affine[:, 0, 2] = torch.from_numpy(np.random.uniform(-1, 1, size=(n,))).cuda()
    return affine
# --- silent
import numpy as np
import torch

def weights(counts):
    w = np.ones(1000)
    w = w.astype(np.float32)
    return torch.tensor(w).cuda()
# --- silent
import numpy as np
import torch

x = torch.from_numpy(np.random.randn(8, 3).astype(np.float32)).cuda()
y = torch.from_numpy(np.zeros((8, 3), dtype=np.float32)).cuda()
z = torch.tensor(np.zeros((8, 3)), dtype=torch.float32).cuda()
w = torch.from_numpy(np.random.randn(8, 3)).float().cuda()
v = torch.from_numpy(np.random.randint(0, 9, (8, 3))).cuda()
# --- silent
import numpy as np
import torch

torch.set_default_dtype(torch.float64)
x = torch.from_numpy(np.random.randn(8, 3)).cuda()
# --- silent
import numpy as np
import torch

x = torch.from_numpy(np.random.randn(8, 3)).cuda().float()
