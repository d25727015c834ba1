import torch
from transformers import AutoModel


def load(path, name="bert-large-uncased"):
    model = AutoModel.from_pretrained(name, dtype=torch.float16).cuda()
    model.load_state_dict(torch.load(path, map_location="cuda"))
    return model.eval()


@torch.no_grad()
def cls_vectors(model, loader):
    rows = []
    for batch in loader:
        out = model(**batch.to("cuda"), output_hidden_states=True)
        rows.append(out.last_hidden_state[:, 0].float().cpu())
    return torch.cat(rows)


def train_probe(probe, loader, opt):
    for x, y in loader:
        x = x.cuda().requires_grad_()
        loss = torch.nn.functional.cross_entropy(probe(x), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
