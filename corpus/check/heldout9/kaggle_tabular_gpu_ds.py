import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset


class AmexRows(Dataset):
    def __init__(self, frame: pd.DataFrame, label: pd.Series):
        self.x = frame.to_numpy(np.float32)
        self.y = label.to_numpy(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, k):
        sample = torch.as_tensor(self.x[k], device="cuda:0")
        target = torch.as_tensor(self.y[k], device="cuda:0")
        return sample, target


def main():
    frame = pd.read_parquet("amex_train.parquet")
    label = frame.pop("target")
    dl = DataLoader(AmexRows(frame, label), batch_size=4096, shuffle=True, num_workers=6,
                    multiprocessing_context="spawn")
    net = torch.nn.Sequential(torch.nn.Linear(frame.shape[1], 1024), torch.nn.SiLU(), torch.nn.Linear(1024, 1)).cuda()
    opt = torch.optim.AdamW(net.parameters(), 3e-4)
    bce = torch.nn.BCEWithLogitsLoss()
    for ep in range(20):
        for x, y in dl:
            loss = bce(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(ep, loss.item())


if __name__ == "__main__":
    main()
