import glob
import pickle

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class RLBenchFrames(Dataset):
    """One item = 4 camera views + proprio + target gripper pose."""

    CAMS = ("front", "left_shoulder", "right_shoulder", "wrist")

    def __init__(self, root, device="cuda"):
        self.files = sorted(glob.glob(f"{root}/*/frame_*.pkl"))
        self.device = device

    def __len__(self):
        return len(self.files)

    def _view(self, frame, cam):
        rgb = frame[f"{cam}_rgb"].transpose(2, 0, 1).astype(np.float32) / 255.0
        return torch.from_numpy(rgb)

    def __getitem__(self, i):
        with open(self.files[i], "rb") as f:
            frame = pickle.load(f)
        views = torch.stack([self._view(frame, c) for c in self.CAMS]).to("cuda")
        prop = torch.tensor(frame["proprio"], dtype=torch.float32).to("cuda")
        pose = torch.tensor(frame["gripper_pose"], dtype=torch.float32).to("cuda")
        return views, prop, pose


def get_loader(root, bs):
    return DataLoader(
        RLBenchFrames(root),
        batch_size=bs,
        shuffle=True,
        num_workers=6,
        multiprocessing_context="spawn",
        persistent_workers=True,
    )
