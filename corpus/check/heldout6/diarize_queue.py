import gc
import time
import torch

from diar import load_segmenter, load_embedder, cluster


class Diarizer:
    def __init__(self, device="cuda"):
        self.device = device
        self.seg = load_segmenter().to(device).eval()
        self.emb = load_embedder().to(device).eval()

    def _windows(self, wav, size=160000, hop=80000):
        return wav.unfold(-1, size, hop).squeeze(0)

    @torch.inference_mode()
    def run(self, wav):
        speakers = []
        for win in self._windows(wav).split(32):
            win = win.to(self.device)
            act = self.seg(win)
            speakers.append(self.emb(win, act).cpu())
            del act, win
            gc.collect()
            torch.cuda.empty_cache()
        return cluster(torch.cat(speakers))


def serve(q):
    d = Diarizer()
    while (job := q.get()) is not None:
        t = time.time()
        job.result = d.run(job.wav)
        print(job.id, round(time.time() - t, 2))
