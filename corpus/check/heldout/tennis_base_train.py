import torch
import torch.nn.functional as F
from tqdm import trange


def train(model, train_loader, optimizer, device, epochs, max_iters=1000):
    for epoch in trange(epochs):
        model.train()
        history = []
        for i, (frame, heat, *_rest) in enumerate(train_loader):
            out = model(frame.float().to(device))
            loss = F.mse_loss(F.sigmoid(out), heat.float().to(device))
            loss.backward()
            optimizer.step()
            history.append(loss.item())
            if i > max_iters:
                break
        print(epoch, sum(history) / len(history))
