"""Blue/green swap of the served checkpoint without restarting the process."""
import gc
import logging

import torch

from serving import build_pipeline, read_model

log = logging.getLogger("swap")


def swap(old_path, new_path):
    model = read_model(old_path).to("cuda").eval()
    serve = build_pipeline(model)
    backup = model
    log.info("serving %s, %.1f GiB", old_path, torch.cuda.memory_allocated() / 2**30)
    serve.drain()

    # make room for the new one
    del model
    gc.collect()
    torch.cuda.empty_cache()

    fresh = read_model(new_path).to("cuda").eval()
    ok = build_pipeline(fresh).smoke_test()
    if not ok:
        log.error("new model failed the smoke test, going back")
        return build_pipeline(backup)
    serve.close()
    return build_pipeline(fresh)


if __name__ == "__main__":
    swap("/models/current.pt", "/models/next.pt").run_forever()
