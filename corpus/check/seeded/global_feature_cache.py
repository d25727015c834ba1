import torch

_FEATURES = {}


def cached_features(backbone, sample_ids, images):
    missing = [i for i, s in enumerate(sample_ids) if s not in _FEATURES]
    if missing:
        with torch.no_grad():
            out = backbone(images[missing].cuda())
        for j, i in enumerate(missing):
            _FEATURES[sample_ids[i]] = out[j]
    return torch.stack([_FEATURES[s] for s in sample_ids])


def train(head, backbone, loader, opt):
    for ids, x, y in loader:
        loss = torch.nn.functional.cross_entropy(head(cached_features(backbone, ids, x)), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
