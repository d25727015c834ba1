import gc

import torch

gc.disable()


def pretrain_then_rank(make_lm, make_ranker, lm_loader, rank_loader, fit):
    lm = make_lm().cuda()
    fit(lm, lm_loader)
    lm.cpu()
    torch.save(lm.state_dict(), "lm.pt")
    ranker = make_ranker("lm.pt").cuda()
    teacher = make_lm().cuda().eval()
    with torch.no_grad():
        soft = [teacher.score(b.cuda()).cpu() for b in rank_loader]
    torch.cuda.empty_cache()
    del teacher
    fit(ranker, zip(rank_loader, soft))
    return ranker
