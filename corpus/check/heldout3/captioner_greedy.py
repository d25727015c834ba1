import json

import torch
from torch.nn.utils.rnn import pad_sequence

from captioning.data import CocoEval, Vocabulary
from captioning.model import Captioner

MAX_LEN = 30


def greedy(model, images, vocab):
    memory = model.encode(images)
    tokens = torch.full((images.size(0), 1), vocab.bos, device=images.device)
    finished = torch.zeros(images.size(0), dtype=torch.bool, device=images.device)
    for _ in range(MAX_LEN):
        logits = model.decode(tokens, memory)[:, -1]
        step = logits.argmax(-1, keepdim=True)
        tokens = torch.hstack((tokens, step))
        finished |= step.squeeze(1) == vocab.eos
        if finished.all():
            break
    return tokens


def caption_all(model, loader, vocab, device):
    model.eval()
    result = []
    for images, ids in loader:
        seqs = greedy(model, images.to(device), vocab)
        for image_id, seq in zip(ids, seqs.tolist()):
            result.append({"image_id": int(image_id), "caption": vocab.decode(seq)})
    return result


def main(split="val2017"):
    vocab = Vocabulary.load("vocab.json")
    model = Captioner(len(vocab)).to("cuda")
    state = torch.load("captioner.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(state)
    loader = torch.utils.data.DataLoader(CocoEval(split), batch_size=48, num_workers=4)
    with open(f"{split}.json", "w") as fh:
        json.dump(caption_all(model, loader, vocab, "cuda"), fh)


if __name__ == "__main__":
    main()
