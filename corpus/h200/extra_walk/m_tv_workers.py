import torch, torchvision
from torch.utils.data import DataLoader, Dataset
class Images(Dataset):
    def __len__(self): return 640
    def __getitem__(self, i): return torch.rand(3, 96, 96), i % 10
def main():
    net = torchvision.models.resnet34(num_classes=10).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.StepLR(opt, 2)
    train, test = DataLoader(Images(), 32, num_workers=2, drop_last=True), DataLoader(Images(), 128, num_workers=2)
    for epoch in range(4):
        net.train()
        for step, (x, y) in enumerate(train):
            loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
            opt.zero_grad(); loss.backward(); opt.step()
        sched.step()
        net.eval()
        with torch.no_grad():
            hits = sum((net(x.cuda()).argmax(1) == y.cuda()).sum().item() for x, y in test)
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, f"epoch{epoch}.pt")
if __name__ == "__main__":
    main()
