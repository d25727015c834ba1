import torch


def sweep(configs, train):
    failures = {}
    for name, cfg in configs.items():
        try:
            train(cfg)
        except torch.OutOfMemoryError as e:
            failures[name] = str(e)
        except ValueError as e:
            failures[name] = repr(e)
    return failures
