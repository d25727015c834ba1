import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM, AutoTokenizer


class SoftPrompt(nn.Module):
    """The language model is frozen, but gradients have to go through it to the prompt."""

    def __init__(self, name="gpt2", n=20):
        super().__init__()
        self.lm = AutoModelForCausalLM.from_pretrained(name)
        self.lm.requires_grad_(False)
        wte = self.lm.get_input_embeddings()
        self.prompt = nn.Parameter(wte.weight[:n].detach().clone())

    def forward(self, ids):
        emb = self.lm.get_input_embeddings()(ids)
        p = self.prompt.unsqueeze(0).expand(len(ids), -1, -1)
        labels = torch.cat([torch.full((len(ids), p.shape[1]), -100, device=ids.device), ids], 1)
        return self.lm(inputs_embeds=torch.cat([p, emb], 1), labels=labels).loss


def train(lines, name="gpt2", epochs=3):
    tok = AutoTokenizer.from_pretrained(name)
    model = SoftPrompt(name).cuda()
    opt = torch.optim.Adam([model.prompt], lr=0.3)
    for _ in range(epochs):
        for line in lines:
            loss = model(tok(line, return_tensors="pt").input_ids.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
    return model.prompt.detach().cpu()
