import torch
import torch.nn.functional as F
from tqdm.auto import tqdm


def evaluate(encoder, decoder, pairs, vocab_size):
    losses = []
    encoder.eval()
    decoder.eval()
    for src, tgt in tqdm(pairs):
        memory = encoder(src.cuda())
        logits = decoder(memory, tgt[:, :-1].cuda())
        loss = F.cross_entropy(logits.reshape(-1, vocab_size), tgt[:, 1:].reshape(-1).cuda())
        losses += [loss]
    return sum(losses) / len(losses)
