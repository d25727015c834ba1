import sys
import torch
import editdistance

from crnn import CRNN, greedy, make_loader


def cer(weights, split):
    net = CRNN(97)
    net.load_state_dict(torch.load(weights, map_location="cpu"))
    net.cuda().eval()
    loader = make_loader(split, batch_size=128)
    err = chars = 0
    everything = []
    for imgs, texts in loader:
        logits = net(imgs.cuda())
        everything.append(logits)
        for hyp, ref in zip(greedy(logits), texts):
            err += editdistance.eval(hyp, ref)
            chars += len(ref)
    torch.save(torch.cat(everything, 1).detach().cpu(), "logits.pt")
    return err / max(chars, 1)


if __name__ == "__main__":
    print(f"CER {cer(sys.argv[1], sys.argv[2]):.3%}")
