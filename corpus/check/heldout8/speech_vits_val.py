import torch
from torch.utils.tensorboard import SummaryWriter


class VitsTask:
    def __init__(self, net, hps):
        self.net, self.hps = net.cuda(hps.gpu), hps
        self.writer = SummaryWriter(hps.log_dir)

    def _to(self, batch):
        return [b.cuda(self.hps.gpu, non_blocking=True) for b in batch]

    def evaluate(self, loader, step):
        self.net.eval()
        kl_sum, rec_sum = 0, 0
        for i, batch in enumerate(loader):
            text, tlen, spec, slen, wav, wlen = self._to(batch)
            y, rec, kl = self.net(text, tlen, spec, slen)
            kl_sum += kl.mean()
            rec_sum += rec.mean()
            if i == 0:
                self.writer.add_audio("val/0", y[0].detach().cpu(), step, 22050)
        self.writer.add_scalar("val/kl", kl_sum / len(loader), step)
        self.writer.add_scalar("val/rec", rec_sum / len(loader), step)
        self.net.train()
