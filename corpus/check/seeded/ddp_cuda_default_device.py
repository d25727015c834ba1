import torch
import torch.distributed as dist


def launch(args):
    dist.init_process_group(backend="nccl", init_method="env://")
    model = args.build().cuda()
    model = torch.nn.parallel.DistributedDataParallel(model)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for batch in args.loader:
        loss = model(batch.cuda()).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
