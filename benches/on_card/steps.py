"""One training job whose steps are timed one by one: steps.py JOB STEPS. Prints one JSON object.

Every step is waited for, so that what a step costs the host is not hidden behind the card's work on the one before.
"""

import ctypes
import json
import re
import sys
import time

import torch


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).cuda()
    return model, lambda length: causal(model, 50257, 8, length), [1024]


def qwen2():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2,
        vocab_size=151936, tie_word_embeddings=True,
    )
    model = Qwen2ForCausalLM(config).to(torch.bfloat16).cuda()
    # Ragged: no two batches are alike, so the allocator is at work in every step.
    return model, lambda length: causal(model, 151936, 4, length), [1024 - 37 * (at % 17) for at in range(200)]


def causal(model, words, batch, length):
    tokens = torch.randint(0, words, (batch, length), device="cuda")
    return model(input_ids=tokens, labels=tokens).loss


def resnet50():
    from torchvision.models import resnet50 as build

    model = build().cuda()

    def loss(size):
        images = torch.randn(32, 3, size, size, device="cuda")
        return torch.nn.functional.cross_entropy(model(images), torch.zeros(32, dtype=torch.long, device="cuda"))

    return model, loss, [224]


def small():
    """Steps of some 2 ms, all of it the host's: the worst case for whoever watches the host."""
    layers = [part for _ in range(12) for part in (torch.nn.Linear(256, 256), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)).cuda()

    def loss(size):
        inputs = torch.randn(size, 256, device="cuda")
        return torch.nn.functional.cross_entropy(model(inputs), torch.zeros(size, dtype=torch.long, device="cuda"))

    return model, loss, [64]


JOBS = {"gpt2": gpt2, "qwen2": qwen2, "resnet50": resnet50, "small": small}
#: What the recorder counts, by the number that `oomph_recorder_counter` takes, and PyTorch's word for it.
COUNTERS = {
    16: "allocation.all.allocated",
    17: "allocation.all.freed",
    1: "requested_bytes.all.peak",
    3: "reserved_bytes.all.peak",
}


def counted():
    """What the recorder in this process has counted; None where there is none."""
    with open("/proc/self/maps") as maps:
        found = re.search(r"\S*liboomph_recorder\S*\.so", maps.read())
    if found is None:
        return None
    counter = ctypes.PyDLL(found.group()).oomph_recorder_counter
    counter.restype, counter.argtypes = ctypes.c_uint64, [ctypes.c_uint32]
    return {name: counter(number) for number, name in COUNTERS.items()}


def timed_steps(optimizer, loss, sizes, count, first=0):
    """Takes so many steps, from one of these sizes on; gives the time of each."""
    for step in range(first, first + count):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss(sizes[step % len(sizes)]).backward()
        optimizer.step()
        torch.cuda.synchronize()
        yield (time.perf_counter() - start) * 1000


def main():
    job, steps = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(0)
    model, loss, sizes = JOBS[job]()
    optimizer = torch.optim.AdamW(model.parameters())
    times_ms = list(timed_steps(optimizer, loss, sizes, steps))
    stats = torch.cuda.memory_stats()
    found = {name: stats[name] for name in COUNTERS.values()}
    print(json.dumps({"job": job, "times_ms": times_ms, "stats": stats, "found": found, "counted": counted()}))


if __name__ == "__main__":
    main()
