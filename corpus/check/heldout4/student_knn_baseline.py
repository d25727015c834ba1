"""k-NN on frozen features. N_train = 50k, N_test = 10k, D = 512."""
import numpy as np
import torch


def load_features(split):
    arr = np.genfromtxt(f"features_{split}.csv", delimiter=",")
    return torch.from_numpy(arr).cuda()


def knn_predict(train_x, train_y, test_x, k=5):
    votes = []
    for chunk in test_x.split(64):
        diff = chunk[:, None, :] - train_x[None, :, :]
        dist = (diff ** 2).sum(dim=-1).sqrt()
        nearest = dist.topk(k, largest=False).indices
        votes.append(train_y[nearest].mode(dim=1).values)
    return torch.cat(votes)


def main():
    tx, ty = load_features("train"), torch.from_numpy(np.load("train_y.npy")).cuda()
    vx, vy = load_features("test"), torch.from_numpy(np.load("test_y.npy")).cuda()
    for k in (1, 5, 15):
        acc = (knn_predict(tx, ty, vx, k) == vy).float().mean().item()
        print(f"k={k} acc={acc:.4f}")


if __name__ == "__main__":
    main()
