import torch
import torchaudio


def pad(wavs):
    n = max(w.size(-1) for w in wavs)
    out = torch.zeros(len(wavs), n)
    for i, w in enumerate(wavs):
        out[i, : w.size(-1)] = w
    return out


class Transcriber:
    """CTC transcription of a list of files."""

    def __init__(self, bundle=torchaudio.pipelines.WAV2VEC2_ASR_LARGE_960H, device="cuda"):
        with torch.no_grad():
            self.model = bundle.get_model().to(device)
        self.model.eval()
        self.labels = bundle.get_labels()
        self.rate = bundle.sample_rate
        self.device = device

    def _read(self, path):
        wav, sr = torchaudio.load(path)
        return torchaudio.functional.resample(wav.mean(0), sr, self.rate)

    def transcribe(self, paths, batch=8):
        texts = []
        for i in range(0, len(paths), batch):
            with torch.no_grad():
                wav = pad([self._read(p) for p in paths[i:i + batch]]).to(self.device)
            emissions, _ = self.model(wav)
            best = emissions.argmax(-1).cpu()
            texts.extend(self._collapse(row) for row in best)
        return texts

    def _collapse(self, row):
        keep = torch.unique_consecutive(row).tolist()
        return "".join(self.labels[k] for k in keep if k != 0).replace("|", " ").strip()
