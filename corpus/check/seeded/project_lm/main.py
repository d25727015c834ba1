import torch

from model import LM


def perplexity(lm, batches):
    total = 0
    state = None
    for x, y in batches:
        nll, state = lm(x.cuda(), y.cuda(), state)
        total += nll
    return torch.exp(total / len(batches))


def train(lm, batches, opt):
    state = None
    for x, y in batches:
        loss, state = lm(x.cuda(), y.cuda(), state)
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()


if __name__ == "__main__":
    lm = LM(10000, 512).cuda()
