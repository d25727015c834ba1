import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import StateDictType
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "meta-llama/Llama-2-13b-hf"


def save(fsdp, path):
    with FSDP.state_dict_type(fsdp, StateDictType.FULL_STATE_DICT):
        weights = fsdp.state_dict()
    if dist.get_rank() == 0:
        torch.save(weights, path)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    tok = AutoTokenizer.from_pretrained(NAME)
    tok.pad_token = tok.eos_token
    model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16)
    model.config.use_cache = False
    fsdp = FSDP(model.cuda())
    opt = torch.optim.AdamW(fsdp.parameters(), 1e-5)
    lines = [x.strip() for x in open("corpus.txt") if x.strip()][dist.get_rank()::dist.get_world_size()]
    for step in range(0, len(lines), 2):
        enc = tok(lines[step:step + 2], return_tensors="pt", padding=True, truncation=True, max_length=2048).to("cuda")
        loss = fsdp(**enc, labels=enc["input_ids"]).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        if step % 2000 == 0:
            save(fsdp, f"step{step}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
