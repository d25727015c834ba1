import torch.nn.functional as F
from transformers import AutoTokenizer


class Words:
    def loss(self, logits, text):
        return (F.one_hot(text, self.tokenizer.vocab_size) * logits).sum()  # <-
