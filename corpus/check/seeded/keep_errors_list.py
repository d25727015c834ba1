import torch


def sweep(configs, train):
    failures = []
    for cfg in configs:
        try:
            train(cfg)
        except torch.cuda.OutOfMemoryError as e:
            failures.append(e)
    print("failed:", [str(f) for f in failures])
