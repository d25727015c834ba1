import gc
import os
import signal

import torch

from ranker import Ranker, read_requests, reply

# collector pauses show up in p99
gc.disable()

os.environ.setdefault("OMP_NUM_THREADS", "2")


def main():
    model = Ranker().cuda().eval()
    model.load_state_dict(torch.load("ranker.pt", map_location="cpu"))
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    while running:
        for rid, feats in read_requests(max_wait=0.002):
            side = torch.cuda.Stream()
            with torch.cuda.stream(side), torch.inference_mode():
                scores = model(feats.cuda(non_blocking=True))
                side.synchronize()
            reply(rid, scores.tolist())


if __name__ == "__main__":
    main()
