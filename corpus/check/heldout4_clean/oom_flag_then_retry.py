"""Recover from running out of memory outside of the handler."""
import logging

import torch

log = logging.getLogger(__name__)


class TooBig(Exception):
    pass


@torch.inference_mode()
def forward(net, batch):
    return net(batch.cuda()).cpu()


def safe_forward(net, batch, smallest=1):
    size = len(batch)
    while size >= smallest:
        failed = False
        outs = []
        try:
            for part in batch.split(size):
                outs.append(forward(net, part))
        except torch.OutOfMemoryError:
            failed = True
        if not failed:
            return torch.cat(outs)
        outs.clear()
        torch.cuda.empty_cache()
        log.warning("batch of %d is too big", size)
        size //= 2
    raise TooBig(f"even a batch of {smallest} does not fit")


def run(net, batches):
    net = net.cuda().eval()
    problems = []
    for i, b in enumerate(batches):
        try:
            yield i, safe_forward(net, b)
        except TooBig as e:
            problems.append((i, str(e)))
    log.info("%d problems: %s", len(problems), problems)
