"""Look at encoder activations of an RNN-T on long calls to find the dead layers."""
import collections
import torch

from rnnt import load_encoder, calls


class Recorder:
    def __init__(self, encoder):
        self.acts = collections.defaultdict(list)
        for name, mod in encoder.named_modules():
            if isinstance(mod, torch.nn.LSTM):
                mod.register_forward_hook(self._make(name))

    def _make(self, name):
        def hook(module, args, output):
            seq, _ = output
            self.acts[name].append(seq)
        return hook

    def dead_units(self, eps=1e-4):
        report = {}
        for name, seqs in self.acts.items():
            peak = torch.stack([s.abs().amax(dim=(0, 1)) for s in seqs]).amax(0)
            report[name] = int((peak < eps).sum())
        return report


def main():
    enc = load_encoder("rnnt_large.pt").cuda()
    rec = Recorder(enc)
    enc.eval()
    for call in calls("2023-11"):
        enc(call.features.cuda())
    for layer, dead in rec.dead_units().items():
        print(f"{layer:30s} {dead}")


if __name__ == "__main__":
    main()
