import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segment:True,garbage_collect_threshold:0.8"

import torch

model = torch.nn.Linear(8192, 8192).cuda()
