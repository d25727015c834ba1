import gc

import torch


def main(train, export, build):
    model = build().cuda()
    train(model)
    torch.save(model.state_dict(), "m.pt")
    del model
    gc.collect()
    torch.cuda.empty_cache()
    export("m.pt")
    print(torch.cuda.memory_reserved(), torch.cuda.max_memory_reserved())
    torch.cuda.reset_peak_memory_stats()
