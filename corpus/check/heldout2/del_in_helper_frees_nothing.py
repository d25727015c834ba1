import gc

import torch


def free(tensor):
    del tensor
    gc.collect()
    torch.cuda.empty_cache()


def embed_corpus(encoder, docs, tokenizer):
    encoder.eval()
    rows = []
    with torch.inference_mode():
        for doc in docs:
            ids = tokenizer(doc, return_tensors="pt").input_ids.cuda()
            hidden = encoder(ids).last_hidden_state
            rows.append(hidden.mean(1).cpu())
            free(hidden)
    return torch.cat(rows)
