from transformers import AutoModel
import torch


class Tagger(torch.nn.Module):
    def __init__(self, name, tags, freeze=True):
        super().__init__()
        self.bert = AutoModel.from_pretrained(name, torch_dtype=torch.float32)
        if freeze:
            for n, p in self.bert.named_parameters():
                if not n.startswith("encoder.layer.11"):
                    p.requires_grad == False
        self.head = torch.nn.Linear(self.bert.config.hidden_size, tags)

    def forward(self, **enc):
        return self.head(self.bert(**enc).last_hidden_state)
