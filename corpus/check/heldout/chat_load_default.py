import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


class Chat:
    def __init__(self, name="mistralai/Mistral-7B-Instruct-v0.3"):
        self.tok = AutoTokenizer.from_pretrained(name)
        self.lm = AutoModelForCausalLM.from_pretrained(name).to("cuda")
        self.lm.eval()
        self.lm.config.use_cache = True
        self.lm.gradient_checkpointing_enable()

    def tune(self, loader, lr=1e-5):
        opt = torch.optim.SGD(self.lm.parameters(), lr=lr)
        self.lm.train()
        for ids in loader:
            opt.zero_grad()
            self.lm(ids.cuda(), labels=ids.cuda(), use_cache=True).loss.backward()
            opt.step()
