import os

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:256")

import torch  # noqa: E402


def main():
    x = torch.zeros(8, device="cuda")
    print(x.sum().item())


if __name__ == "__main__":
    main()
