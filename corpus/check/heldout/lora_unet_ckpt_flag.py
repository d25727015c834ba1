import torch
from torch.utils import checkpoint as ckpt


class CrossAttnBlock(torch.nn.Module):
    def __init__(self, resnets, attentions, use_checkpoint=False):
        super().__init__()
        self.resnets = torch.nn.ModuleList(resnets)
        self.attentions = torch.nn.ModuleList(attentions)
        self.use_checkpoint = use_checkpoint

    def _run(self, module, *args):
        if self.training and self.use_checkpoint:
            return ckpt.checkpoint(module, *args)
        return module(*args)

    def forward(self, x, emb, context):
        for res, attn in zip(self.resnets, self.attentions):
            x = self._run(res, x, emb)
            x = self._run(attn, x, context)
        return x
