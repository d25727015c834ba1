import logging

import torch
from torch.cuda import OutOfMemoryError

log = logging.getLogger(__name__)


class Generator:
    def __init__(self, model, tok):
        self.model, self.tok = model, tok

    @torch.inference_mode()
    def _generate(self, prompts, n):
        enc = self.tok(prompts, return_tensors="pt", padding=True).to("cuda")
        ids = self.model.generate(**enc, max_new_tokens=n)
        return self.tok.batch_decode(ids, skip_special_tokens=True)

    def answer(self, prompts, n=256):
        try:
            texts = self._generate(prompts, n)
        except (OutOfMemoryError, MemoryError) as e:
            log.warning("out of memory (%s), one prompt at a time", e)
            texts = []
            for p in prompts:
                texts += self._generate([p], n)
        return texts
