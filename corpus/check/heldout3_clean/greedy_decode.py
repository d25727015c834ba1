"""Greedy decoding with a key/value cache; gradients are off and new ids are plain integers."""
import torch


class Generator:
    def __init__(self, model, tokenizer, device="cuda"):
        self.model, self.tok, self.device = model.to(device).eval(), tokenizer, device

    @torch.inference_mode()
    def __call__(self, prompt: str, max_new: int = 64) -> str:
        ids = self.tok(prompt, return_tensors="pt").input_ids.to(self.device)
        past, step, new = None, ids, []
        for _ in range(max_new):
            out = self.model(step, past_key_values=past, use_cache=True)
            past = out.past_key_values
            step = out.logits[:, -1].argmax(-1, keepdim=True)
            token = step.item()
            if token == self.tok.eos_token_id:
                break
            new.append(token)
        return self.tok.decode(new)


def answer_all(gen: Generator, questions: list[str]) -> dict[str, str]:
    return {q: gen(f"Q: {q}\nA:") for q in questions}
