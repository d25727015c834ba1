import torch


def factorise(dataset, device):
    fprimes = torch.tensor([], device=device)
    energies = torch.tensor([], device=device)
    for item in dataset:
        block = torch.sparse_coo_tensor(item.idx, item.val, item.size).to_dense().to(device)
        fprimes = torch.vstack([fprimes, block]) if len(fprimes) else block
        energies = torch.hstack([energies, item.energy.to(device)])
    return fprimes, energies


if __name__ == "__main__":
    f, e = factorise(torch.load("fingerprints.pt", map_location="cpu", weights_only=False), "cuda")
    print(f.shape, e.shape)
