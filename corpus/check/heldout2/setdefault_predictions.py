import torch


def collect(detector, loader):
    """All raw outputs, by video."""
    detector.eval()
    per_video = {}
    for clip, video_id in loader:
        raw = detector(clip.to("cuda"))
        per_video.setdefault(video_id[0], []).append(raw)
    return {v: torch.cat(parts).max(0).values for v, parts in per_video.items()}


def report(detector, loader):
    best = collect(detector, loader)
    for video, scores in sorted(best.items()):
        print(video, scores.tolist())
