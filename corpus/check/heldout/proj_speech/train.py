import torch
from torch.utils.data import DataLoader

from engine import stream, train_epoch, valid_epoch
from model import Tagger
from corpus import Speech


def main():
    device = torch.device("cuda")
    model = Tagger().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = DataLoader(Speech("train"), batch_size=32, shuffle=True, num_workers=4)
    valid = DataLoader(Speech("valid"), batch_size=32, num_workers=4)
    for epoch in range(30):
        print(epoch, train_epoch(model, train, optimizer, device), valid_epoch(model, valid, device))
        torch.cuda.empty_cache()
    stream(model, train, optimizer, device)


if __name__ == "__main__":
    main()
