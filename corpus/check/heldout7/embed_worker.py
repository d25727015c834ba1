"""Kafka consumer that embeds documents. Memory is at 100 % after two hours, restart helps."""
import json
import logging
import os

import torch
from confluent_kafka import Consumer, Producer
from transformers import AutoModel, AutoTokenizer

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("embed-worker")

tok = AutoTokenizer.from_pretrained("intfloat/e5-large-v2")
model = AutoModel.from_pretrained("intfloat/e5-large-v2", torch_dtype=torch.float16).to("cuda").eval()


def pool(h, mask):
    return (h * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)


def embed(texts):
    enc = tok(texts, padding=True, truncation=True, max_length=512, return_tensors="pt").to("cuda")
    with torch.cuda.amp.autocast():
        out = model(**enc)
    return pool(out.last_hidden_state, enc["attention_mask"]).float().tolist()


def run():
    src = Consumer({"bootstrap.servers": os.environ["KAFKA"], "group.id": "embed"})
    src.subscribe(["documents"])
    dst = Producer({"bootstrap.servers": os.environ["KAFKA"]})
    while True:
        msgs = [m for m in src.consume(64, timeout=1.0) if not m.error()]
        if not msgs:
            continue
        docs = [json.loads(m.value()) for m in msgs]
        for d, v in zip(docs, embed(["passage: " + d["text"] for d in docs])):
            dst.produce("vectors", json.dumps({"id": d["id"], "vec": v}))
        dst.poll(0)
        log.info("embedded %d", len(docs))
        torch.cuda.empty_cache()


if __name__ == "__main__":
    run()
