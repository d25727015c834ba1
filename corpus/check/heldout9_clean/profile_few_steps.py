import torch
import torchvision
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler


def main(debug=False):
    if debug:
        torch.autograd.set_detect_anomaly(True)
    net = torchvision.models.resnet50().cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    plan = schedule(wait=1, warmup=1, active=3, repeat=1)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=plan,
                 on_trace_ready=tensorboard_trace_handler("tb"), profile_memory=True) as prof:
        for step in range(8):
            x = torch.randn(32, 3, 224, 224, device="cuda")
            y = torch.randint(0, 1000, (32,), device="cuda")
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
            prof.step()


if __name__ == "__main__":
    main()
