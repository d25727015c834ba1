import torch as th
import torch.cuda as tc


def release():
    """Called between experiments."""
    import gc

    gc.collect()
    tc.clear_cache()


def run_all(configs, build, fit):
    results = {}
    for name, cfg in configs.items():
        model = build(cfg).to("cuda")
        try:
            results[name] = fit(model, cfg)
        finally:
            del model
            release()
    th.save(results, "results.pt")
    return results
