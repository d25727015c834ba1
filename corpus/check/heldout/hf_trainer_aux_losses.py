import torch
from torch import nn
from transformers import Trainer


class MultiTaskTrainer(Trainer):
    """Adds a sentence-order loss and logs both parts."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.parts = {"mlm": [], "order": []}

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        order = inputs.pop("order")
        out = model(**inputs)
        order_loss = nn.functional.cross_entropy(out.order_logits, order)
        self.parts["mlm"].append(out.loss)
        self.parts["order"].append(order_loss.item())
        loss = out.loss + 0.3 * order_loss
        return (loss, out) if return_outputs else loss

    def log(self, logs, *args, **kwargs):
        logs["mlm"] = float(torch.stack(self.parts["mlm"]).mean()) if self.parts["mlm"] else 0.0
        super().log(logs, *args, **kwargs)
