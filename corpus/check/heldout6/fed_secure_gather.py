import torch
import torch.distributed as dist


def evaluate_everywhere(model, loader, local_rank):
    torch.cuda.set_device(local_rank)
    model.cuda(local_rank).eval()
    world = dist.get_world_size()
    hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x.cuda(local_rank))
            bucket = [None] * world
            dist.all_gather_object(bucket, (logits, y))
            for lg, gold in bucket:
                hits += (lg.argmax(-1).cpu() == gold).sum().item()
                n += len(gold)
    return hits / n


def main():
    import os

    from fed_models import make_model, shard_loader

    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    local = int(os.environ["LOCAL_RANK"])
    model = make_model()
    model.load_state_dict(torch.load("global.pt", map_location="cpu"))
    acc = evaluate_everywhere(model, shard_loader(dist.get_rank()), local)
    if dist.get_rank() == 0:
        print(f"accuracy over all sites {acc:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
