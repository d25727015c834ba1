import queue
import threading

import torch


class StreamingASR:
    """Keeps the encoder state between audio chunks of one call."""

    def __init__(self, encoder, joiner, device="cuda"):
        self.encoder = encoder.to(device).eval()
        self.joiner = joiner.to(device).eval()
        self.device = device
        self.inbox = queue.Queue()
        self.worker = threading.Thread(target=self.loop, daemon=True)

    def loop(self):
        state = self.encoder.initial_state(1, self.device)
        hyp = []
        while True:
            chunk = self.inbox.get()
            if chunk is None:
                break
            feats = chunk.to(self.device)[None]
            enc, state = self.encoder(feats, state)
            scores = self.joiner(enc)
            hyp.extend(scores.argmax(-1)[0].tolist())
        self.result = hyp

    def feed(self, pcm):
        self.inbox.put(pcm)

    def close(self):
        self.inbox.put(None)
        self.worker.join()
        return self.result
