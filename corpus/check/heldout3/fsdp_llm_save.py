"""Full fine-tuning of an 8B model with FSDP; writes a single-file checkpoint."""
import functools
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from packed import packed_loader


def save(model, path, rank):
    cfg = FullStateDictConfig(rank0_only=False)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, cfg):
        state = model.state_dict()
    if rank == 0:
        torch.save(state, path)


def main(name="meta-llama/Llama-3.1-8B", steps=1000):
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16)
    model = model.to(local)
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
    model = FSDP(model, auto_wrap_policy=policy, device_id=local, use_orig_params=True)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for step, ids in zip(range(steps), packed_loader(4096, rank=dist.get_rank())):
        loss = model(input_ids=ids.to(local), labels=ids.to(local), use_cache=False).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        if step % 10 == 0 and dist.get_rank() == 0:
            print(step, loss.item())
    save(model, "llama_ft.pt", dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
