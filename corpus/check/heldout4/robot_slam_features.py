"""Keyframe features for loop closing. Runs on the rover all day."""
import torch
import torchvision

KEYFRAMES = {}

backbone = torchvision.models.resnet50(weights="DEFAULT")
backbone.fc = torch.nn.Identity()
backbone = backbone.to("cuda")
backbone.eval()


def describe(frame):
    with torch.no_grad():
        x = torch.from_numpy(frame).permute(2, 0, 1).float().div(255).unsqueeze(0).cuda()
        maps = backbone.layer3(backbone.layer2(backbone.layer1(backbone.maxpool(
            backbone.relu(backbone.bn1(backbone.conv1(x)))))))
    return maps.flatten(2)


def on_keyframe(kf_id, frame):
    feats = describe(frame)
    KEYFRAMES[kf_id] = feats
    return match(kf_id, feats)


def match(kf_id, feats, gap=30):
    best, score = None, 0.0
    q = feats.mean(-1)
    for other, g in KEYFRAMES.items():
        if kf_id - other < gap:
            continue
        s = torch.cosine_similarity(q, g.mean(-1)).item()
        if s > score:
            best, score = other, s
    return best, score


def main(camera):
    for i, frame in enumerate(camera):
        if i % 5 == 0:
            print(on_keyframe(i, frame))
