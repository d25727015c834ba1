import torch, torchvision
net = torchvision.models.resnet50(); net.fc = torch.nn.Identity(); net = net.cuda().eval()
feats = []
with torch.no_grad():
    for i in range(60):
        feats.append(net(torch.randn(64, 3, 128, 128, device="cuda")))
bank = torch.cat(feats)
probe = torch.nn.Linear(2048, 1000).cuda(); opt = torch.optim.SGD(probe.parameters(), lr=0.1)
for epoch in range(20):
    for idx in torch.randperm(len(bank)).split(512):
        torch.nn.functional.cross_entropy(probe(bank[idx.cuda()]), torch.randint(0, 1000, (len(idx),), device="cuda")).backward(); opt.step(); opt.zero_grad()
