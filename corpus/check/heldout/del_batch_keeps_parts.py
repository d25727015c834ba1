import torch


def run(model, dataset, optimizer, loss_fn, chunk=4):
    for sample in dataset:
        volume = sample["volume"].cuda()
        patches = volume.unfold(2, 64, 32).unfold(3, 64, 32)
        label = sample["label"].cuda()
        del volume
        torch.cuda.synchronize()
        flat = patches.permute(2, 3, 0, 1, 4, 5).flatten(0, 2)
        for piece, target in zip(flat.split(chunk), label.split(chunk)):
            optimizer.zero_grad()
            loss = loss_fn(model(piece), target)
            loss.backward()
            optimizer.step()
        print(loss.item())
