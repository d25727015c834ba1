import torch


def greedy_decode(model, src, max_len, bos, eos):
    memory = model.encode(src)
    ys = torch.full((src.size(0), 1), bos, dtype=torch.long, device=src.device)
    for _ in range(max_len - 1):
        prob = model.generator(model.decode(memory, ys)[:, -1])
        nxt = prob.argmax(dim=1, keepdim=True)
        ys = torch.hstack([ys, nxt])
        if (nxt == eos).all():
            break
    return ys


def translate_test_set(model, loader, vocab):
    model.eval()
    hyps = []
    for src, _ in loader:
        out = greedy_decode(model, src.cuda(), 128, vocab["<s>"], vocab["</s>"])
        hyps.extend(vocab.to_text(row) for row in out.tolist())
    return hyps
