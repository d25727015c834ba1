"""What a plan costs its host, against the targets: run by `make bench`, best on a machine with nothing else to do.

A Llama of 70 billion parameters, built by transformers from its configuration: at most 120 s and 8 GB. GPT-2: at most
twice what `import torch, transformers` takes. Processor time is compared too, which other processes disturb less.
A plan keeps bytecode where an installation has none, so the imports are timed twice: as they come, and with all of theirs
compiled beforehand, which is what a plan has from its second time on.
"""

import os
import pathlib
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time

OOMPH = os.environ.get("OOMPH") or str(pathlib.Path(sysconfig.get_path("scripts")) / "oomph")

LLAMA_70B = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM
config = LlamaConfig(hidden_size=8192, num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8,
                     intermediate_size=28672, vocab_size=128256)
model = LlamaForCausalLM(config).to(torch.bfloat16).cuda().eval()
with torch.no_grad():
    model(input_ids=torch.randint(0, 1000, (1, 512), device="cuda"))
"""
GPT2 = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config()).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    tokens = torch.randint(0, 50257, (4, 512), device="cuda")
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def measured(*command, environment=None):
    """Wall and processor seconds of a command, the best of three."""
    best = None
    for _ in range(3):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best or (wall, processor), (wall, processor))
    return best


def main():
    with tempfile.TemporaryDirectory() as folder:
        llama, gpt2 = pathlib.Path(folder, "llama_70b.py"), pathlib.Path(folder, "gpt2.py")
        llama.write_text(LLAMA_70B)
        gpt2.write_text(GPT2)
        wall, processor = measured(OOMPH, "plan", "--python", sys.executable, "--gpu", "b200", "--batches", "1", str(llama))
        gigabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
        print(f"Llama 70B: {wall:.1f} s ({processor:.1f} s of processor), {gigabytes:.2f} GB of host memory; targets 120 s, 8 GB")
        wall, processor = measured(OOMPH, "plan", "--python", sys.executable, str(gpt2))
        compiled = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        compiled.pop("PYTHONDONTWRITEBYTECODE", None)
        for name, environment in (("as they come", None), ("compiled beforehand", compiled)):
            imports = (sys.executable, "-c", "import torch, transformers")
            base_wall, base_processor = measured(*imports, environment=environment)
            ratios = f"{wall / base_wall:.2f} times in wall time, {processor / base_processor:.2f} in processor time"
            print(f"GPT-2: {wall:.1f} s, {ratios}, against `import torch, transformers` {name}; target 2")


if __name__ == "__main__":
    main()
