import gc

import torch


def cleanup(trainer):
    trainer.model.cpu()
    del trainer.model
    gc.collect()
    torch.cuda.empty_cache


def sweep(configs, build):
    for cfg in configs:
        trainer = build(cfg)
        trainer.fit()
        cleanup(trainer)
