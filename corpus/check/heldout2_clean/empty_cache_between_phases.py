import gc

import torch


def two_stages(make_teacher, make_student, loader, train, dump):
    for build, action in ((make_teacher, train), (make_student, dump)):
        model = build().cuda()
        action(model, loader)
        del model
        gc.collect()
        torch.cuda.empty_cache()
