import sys

sys.path.insert(0, "lib")
from core.networks import Plain, Scene, Switching


def render(test_loader):
    scene = Scene().cuda()
    scene.eval()
    for points in test_loader:
        print(scene(points.cuda()).detach().cpu().mean())


def render_plain(test_loader):
    plain = Plain().cuda()
    plain.eval()
    for points in test_loader:  # <- eval-loop-without-no-grad
        print(plain(points.cuda()).detach().cpu().mean())


def infer(test_loader):
    net = Switching().cuda()
    net.eval()
    for points in test_loader:
        print(net(points.cuda(), mode="inference").cpu().mean())
