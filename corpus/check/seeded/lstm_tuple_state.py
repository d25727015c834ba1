import torch
from torch import nn

SEQ, BATCH, HID = 35, 20, 650


def init_state(layers):
    z = torch.zeros(layers, BATCH, HID).cuda()
    return (z, z.clone())


def run_epoch(embed, lstm, head, data_loader, optimizer):
    hx, cx = init_state(lstm.num_layers)
    total = 0.0
    for i, (tokens, labels) in enumerate(data_loader):
        e = embed(tokens.cuda())
        out, (hx, cx) = lstm(e, (hx, cx))
        loss = nn.functional.cross_entropy(head(out).transpose(1, 2), labels.cuda())
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(lstm.parameters(), 0.25)
        optimizer.step()
        total += loss.item()
    return total / len(data_loader)
