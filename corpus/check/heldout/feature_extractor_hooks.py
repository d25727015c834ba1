import torch


class FeatureExtractor:
    def __init__(self, encoder, layers):
        self.encoder = encoder.cuda().eval()
        self.features = {name: [] for name in layers}
        mods = dict(encoder.named_modules())
        self.handles = [mods[n].register_forward_hook(self._save(n)) for n in layers]

    def _save(self, name):
        def hook(module, args, output):
            self.features[name].append(output)

        return hook

    def run(self, loader):
        for x in loader:
            self.encoder(x.cuda())
        return self.features


def layer_norms(encoder, loader, layers):
    fx = FeatureExtractor(encoder, layers)
    feats = fx.run(loader)
    return {k: sum(f.norm().item() for f in v) for k, v in feats.items()}
