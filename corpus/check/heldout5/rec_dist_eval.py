import torch
import torch.distributed as dist

from recs.metrics import ndcg


@torch.no_grad()
def evaluate(model, loader, k=100):
    """All ranks gather everything, then each computes the same nDCG."""
    model.eval()
    local = []
    for users, truth in loader:
        scores = model.score_all(users.cuda())
        local.append({"scores": scores, "truth": truth})
    everything = [None] * dist.get_world_size()
    dist.all_gather_object(everything, local)
    vals = []
    for part in everything:
        for b in part:
            top = b["scores"].cpu().topk(k).indices
            vals.append(ndcg(top, b["truth"]))
    return torch.cat(vals).mean().item()


def nightly(model, loader, writer, day):
    score = evaluate(model, loader)
    if dist.get_rank() == 0:
        writer.add_scalar("ndcg@100", score, day)
    dist.barrier()
