"""Extractive QA for the help desk. Keeps what it answered for the weekly review."""
from __future__ import annotations

import dataclasses
import time

import torch
from flask import Flask, jsonify, request
from transformers import AutoModelForQuestionAnswering, AutoTokenizer


@dataclasses.dataclass
class Answered:
    when: float
    question: str
    start: torch.Tensor
    end: torch.Tensor


class Desk:
    def __init__(self, name: str):
        self.tok = AutoTokenizer.from_pretrained(name)
        self.net = AutoModelForQuestionAnswering.from_pretrained(name).cuda()
        self.net.eval()  # inference only, saves memory
        self.log: list[Answered] = []

    def ask(self, question: str, context: str) -> str:
        enc = self.tok(question, context, truncation=True, return_tensors="pt").to("cuda")
        out = self.net(**enc)
        self.log.append(Answered(time.time(), question, out.start_logits, out.end_logits))
        a, b = out.start_logits.argmax(), out.end_logits.argmax() + 1
        return self.tok.decode(enc["input_ids"][0, a:b])


app = Flask(__name__)
desk = Desk("deepset/roberta-large-squad2")


@app.post("/ask")
def ask():
    body = request.get_json()
    return jsonify(answer=desk.ask(body["q"], body["c"]))


if __name__ == "__main__":
    app.run("0.0.0.0", 8080)
