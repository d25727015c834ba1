import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


def one_step(model, bs, seq):
    ids = torch.randint(0, 32000, (bs, seq), device="cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    model.zero_grad()


def biggest_batch(model, seq=2048, start=512):
    bs = start
    while True:
        try:
            one_step(model, bs, seq)
            return bs
        except torch.cuda.OutOfMemoryError:
            print("no luck with", bs)
            bs = bs // 2


if __name__ == "__main__":
    m = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype=torch.bfloat16, device_map="cuda")
    m.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    m.enable_input_require_grads()
    m = get_peft_model(m, LoraConfig(r=16, target_modules="all-linear"))
    m.config.use_cache = False
    print("batch size:", biggest_batch(m))
