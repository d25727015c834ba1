import torch
from torch.profiler import ProfilerActivity, profile

from shop import DeepFM, impressions


def train_day(model, opt, day):
    bce = torch.nn.BCEWithLogitsLoss()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, with_stack=True) as prof:
        for x, y in impressions(day):
            opt.zero_grad()
            loss = bce(model(x.cuda()), y.cuda().float())
            loss.backward()
            opt.step()
    print(prof.key_averages().table(sort_by="cuda_memory_usage", row_limit=15))


if __name__ == "__main__":
    m = DeepFM().cuda()
    o = torch.optim.Adam(m.parameters(), 1e-3)
    for d in range(7):
        train_day(m, o, d)
