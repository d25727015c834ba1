import torch
from torch import inference_mode
from transformers import AutoTokenizer, AutoModelForSeq2SeqLM


class Summariser:
    def __init__(self, name="google/pegasus-xsum"):
        self.tok = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(name, torch_dtype=torch.float16).cuda().eval()

    def logits(self, texts):
        inference_mode()
        enc = self.tok(texts, return_tensors="pt", padding=True).to("cuda")
        return self.model(**enc, decoder_input_ids=enc["input_ids"][:, :1]).logits.argmax(-1).tolist()
