import torch
from torchvision.io import read_video, write_video


class Stylizer:
    def __init__(self, net):
        self.net = net.cuda()
        self.frames = []

    def add(self, frame):
        x = frame.permute(2, 0, 1)[None].float().cuda() / 255
        y = self.net(x)
        self.frames.append(y)

    def save(self, path, fps):
        video = torch.cat(self.frames).clamp(0, 1).mul(255).byte()
        write_video(path, video.permute(0, 2, 3, 1).cpu(), fps)


def run(net, src, dst):
    frames, _, info = read_video(src)
    s = Stylizer(net)
    for f in frames:
        s.add(f)
    s.save(dst, info["video_fps"])
