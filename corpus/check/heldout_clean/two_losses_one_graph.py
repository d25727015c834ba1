import torch


def train(shared, head_a, head_b, loader, opt):
    ce = torch.nn.CrossEntropyLoss()
    right = seen = 0
    for x, a, b in loader:
        z = shared(x.cuda())
        out_a = head_a(z)
        loss_a, loss_b = ce(out_a, a.cuda()), ce(head_b(z), b.cuda())
        opt.zero_grad()
        loss_a.backward(retain_graph=True)
        norm = torch.nn.utils.clip_grad_norm_(shared.parameters(), 1.0).item()
        loss_b.backward()
        opt.step()
        right += (out_a.detach().argmax(1).cpu() == a).sum().item()
        seen += len(a)
        print(norm, right / seen)
