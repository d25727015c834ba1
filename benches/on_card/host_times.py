"""What the host needs for the steps of a job that has hardly any arithmetic: what a plan's prediction of time rests on.

    python benches/on_card/host_times.py > host_times.json

A Llama of tiny width with LoRA, plain, recomputed by PyTorch's checkpoint and by oomph's `checkpoint_blocks`: nothing of
that keeps a card busy, so a step takes what the host takes. For each: milliseconds of the forward pass, of the backward
pass and of the step, and operators and blocks that were allocated, which is what a hollow run counts.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import LlamaConfig, LlamaForCausalLM

LAYERS, STEPS, WARM = 32, 30, 5


class Operators(TorchDispatchMode):
    """Counts what is dispatched."""

    count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """One more."""
        self.count += 1
        return function(*args, **(kwargs or {}))


def model() -> Any:
    """As many layers as a model of 7 billion has, none with work for a card."""
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=LAYERS, num_attention_heads=4)
    adapters = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.0, task_type="CAUSAL_LM")
    return get_peft_model(LlamaForCausalLM(config).to("cuda", torch.bfloat16), adapters)


def measured(network: Any) -> dict[str, float]:
    """The median times of steps, and what one of them dispatches."""
    optimizer = torch.optim.AdamW((one for one in network.parameters() if one.requires_grad), lr=1e-4)
    batch = torch.randint(0, 256, (4, 32), device="cuda")
    times: list[tuple[float, float, float]] = []
    for _ in range(WARM + STEPS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        loss = network(input_ids=batch, labels=batch).loss
        torch.cuda.synchronize()
        forward = time.perf_counter()
        loss.backward()
        torch.cuda.synchronize()
        backward = time.perf_counter()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        times.append((forward - began, backward - forward, time.perf_counter() - began))
    found = {name: 1e3 * statistics.median(column) for name, column in zip(("forward_ms", "backward_ms", "step_ms"), zip(*times[WARM:]))}
    blocks = torch.cuda.memory_stats()["allocation.all.allocated"]
    with Operators() as operators:
        loss = network(input_ids=batch, labels=batch).loss
    found["forward_operators"] = operators.count
    found["forward_blocks"] = torch.cuda.memory_stats()["allocation.all.allocated"] - blocks
    loss.backward()
    found["forward_and_backward_blocks"] = torch.cuda.memory_stats()["allocation.all.allocated"] - blocks
    return found


def main() -> None:
    """Each way in turn."""
    found = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "plain": measured(model())}
    recomputed = model()
    recomputed.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    recomputed.enable_input_require_grads()
    found["checkpoint"] = measured(recomputed)
    try:
        import oomph

        by_oomph = model()
        found["blocks"] = len(oomph.checkpoint_blocks(by_oomph))
        found["checkpoint_blocks"] = measured(by_oomph)
    except ImportError as missing:
        found["checkpoint_blocks"] = str(missing)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
