import os
import torch


def setup():
    print("GPU:", torch.cuda.get_device_name(0), torch.cuda.mem_get_info())
    x = torch.zeros(1, device="cuda")
    os.environ["PYTORCH_ALLOC_CONF"] = "backend:cudaMallocAsync"
    return x


if __name__ == "__main__":
    setup()
