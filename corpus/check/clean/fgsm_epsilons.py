import torch
import torch.nn.functional as F


def test(model, device, loader, epsilon):
    correct = 0
    examples = []
    model.eval()
    for data, target in loader:
        data, target = data.to(device), target.to(device)
        data.requires_grad = True
        output = model(data)
        loss = F.nll_loss(output, target)
        model.zero_grad()
        loss.backward()
        perturbed = torch.clamp(data + epsilon * data.grad.sign(), 0, 1)
        with torch.no_grad():
            pred = model(perturbed).argmax(1)
        correct += (pred == target).sum().item()
        if len(examples) < 5:
            examples.append(perturbed[0].detach().cpu().numpy())
    return correct, examples
