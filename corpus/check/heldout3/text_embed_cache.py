"""Prompt encoder for the image generator; prompts repeat, so the encodings are memoised."""
from __future__ import annotations

import functools

import torch
from transformers import CLIPTextModel, CLIPTokenizer


class PromptEncoder:
    def __init__(self, name: str = "openai/clip-vit-large-patch14", device: str = "cuda") -> None:
        self.tok = CLIPTokenizer.from_pretrained(name)
        self.net = CLIPTextModel.from_pretrained(name, dtype=torch.float16).to(device).eval()
        self.device = device

    @functools.cache
    def encode(self, prompt: str) -> torch.Tensor:
        ids = self.tok(prompt, padding="max_length", truncation=True, return_tensors="pt").input_ids
        with torch.inference_mode():
            return self.net(ids.to(self.device)).last_hidden_state

    def encode_pair(self, prompt: str, negative: str = "") -> torch.Tensor:
        return torch.cat([self.encode(negative), self.encode(prompt)])


class Worker:
    def __init__(self, queue, pipeline) -> None:
        self.queue, self.pipe = queue, pipeline
        self.enc = PromptEncoder()

    def run(self) -> None:
        while True:
            job = self.queue.get()
            if job is None:
                return
            cond = self.enc.encode_pair(job["prompt"], job.get("negative", ""))
            job["result"].set_result(self.pipe(cond, steps=job.get("steps", 30)))
