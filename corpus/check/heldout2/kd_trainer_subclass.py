import torch.nn.functional as F
from transformers import Trainer


class DistilTrainer(Trainer):
    def __init__(self, *args, teacher=None, temperature=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.teacher = teacher.eval().to(self.args.device)
        self.temperature = temperature

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        out = model(**inputs)
        soft = self.teacher(**inputs).logits
        t = self.temperature
        kd = F.kl_div(F.log_softmax(out.logits / t, -1), F.softmax(soft / t, -1), reduction="batchmean")
        loss = 0.5 * out.loss + 0.5 * t * t * kd
        return (loss, out) if return_outputs else loss
