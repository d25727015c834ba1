import gc

import torch


def embed(model, texts, tok):
    try:
        with torch.no_grad():
            return model(**tok(texts, return_tensors="pt", padding=True).to("cuda")).last_hidden_state.cpu()
    except RuntimeError as err:
        if "CUDA out of memory" not in str(err):
            raise
        gc.collect()
        torch.cuda.empty_cache()
        outs = []
        with torch.no_grad():
            for t in texts:
                outs.append(model(**tok(t, return_tensors="pt").to("cuda")).last_hidden_state.cpu())
        return torch.cat(outs)
