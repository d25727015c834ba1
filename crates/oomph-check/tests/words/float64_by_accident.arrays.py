import numpy as np
import torch
class Memory:
    def __init__(self, size, width):
        self.states = np.zeros((size, width))
        self.size = size
    def draw(self, n, device="cuda"):
        which = np.random.randint(0, self.size, n)
        return torch.from_numpy(self.states[which]).to(device)  # <-
# ---
import numpy as np
import torch
def waves(length, dim):
    place = np.arange(length)[:, None]
    angle = place / np.power(10000, np.arange(dim)[None] / dim)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    return torch.from_numpy(angle).cuda()  # <-
# ---
import numpy as np
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
xs, ts = np.meshgrid(np.linspace(-1, 1, 900), np.linspace(0, 1, 900))
points = np.hstack([xs.reshape(-1, 1), ts.reshape(-1, 1)])
points = torch.from_numpy(points)  # <-
points = points.to(device)
# ---
import cv2
import numpy as np
import torch
MEAN = np.array([0.5, 0.4, 0.3])
def prepare(path):
    image = cv2.imread(path)[:, :, ::-1]
    image = image / 255.0 - MEAN
    return torch.as_tensor(image.transpose(2, 0, 1), device="cuda")  # <-
# ---
import numpy as np
import torch
def on_card(array):
    return torch.from_numpy(array).cuda(non_blocking=True)  # <-
def sphere(rows, columns):
    a, b = np.meshgrid(np.linspace(0, 3, rows), np.linspace(0, 6, columns))
    return np.stack([np.cos(a), np.sin(b)], -1).reshape(-1, 2)
def main():
    return on_card(sphere(700, 1400))
# ---
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
features, labels = make_classification(n_samples=500_000, n_features=64)
train, test, train_y, test_y = train_test_split(features, labels)
train = torch.from_numpy(train).cuda()  # <-
train_y = torch.from_numpy(train_y).cuda()
# ---
import numpy as np
import torch
grid = torch.from_numpy(np.random.uniform(-1, 1, size=(90000, 3))).to("cuda")  # <-
def sample(net, n):
    picked = torch.randint(len(grid), (n,), device="cuda")
    return net(grid[picked].float())
# ---
import numpy as np
import torch
def table(rows):
    kept = (rows > 0).astype(float)
    return torch.tensor(kept).to("cuda:0")  # <-
def other(rows):
    kept = (rows > 0).astype(np.float32)
    return torch.tensor(kept).to("cuda:0")
