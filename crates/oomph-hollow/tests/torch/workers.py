"""DataLoader workers, forked and spawned, while autograd's threads are at work; forked children have no card."""

import multiprocessing
import os
import random
import threading

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((100,), float(index * index))


def use_card(answers):
    answers.put(torch.ones(3, device="cuda").sum().item())


def main():
    # A child forked before anyone asked for a card can have one.
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=use_card, args=(answers,))
    child.start()
    assert answers.get(timeout=60) == 0.0
    child.join()

    model = torch.nn.Sequential(*[torch.nn.Linear(100, 100) for _ in range(4)]).cuda()
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            # Not torch's generator: a child forked while a thread holds its mutex waits for it for ever, on a card too.
            torch.empty(random.randrange(1, 1 << 22), device="cuda")
            torch.cuda.empty_cache()

    threads = [threading.Thread(target=churn) for _ in range(2)]
    for thread in threads:
        thread.start()
    for context in ("fork", "spawn"):
        for _ in range(3 if context == "fork" else 1):
            loader = DataLoader(Squares(), batch_size=8, num_workers=2, multiprocessing_context=context, pin_memory=True)
            total = 0.0
            for batch in loader:
                assert batch.is_pinned()
                total += batch[:, 0].sum().item()
                model(batch.cuda(non_blocking=True)).sum().backward()
            assert total == sum(index * index for index in range(64))
    stop.set()
    for thread in threads:
        thread.join()

    child = os.fork()
    if child == 0:
        # What PyTorch says of a card in a forked child, and what CUDA itself says.
        import ctypes

        count = ctypes.c_int(7)
        status = ctypes.CDLL(None).cudaGetDeviceCount(ctypes.byref(count))
        try:
            torch.zeros(1, device="cuda")
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) and (status, count.value) == (3, 0) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    torch.randn(10, device="cuda").sum().item()


if __name__ == "__main__":
    main()
