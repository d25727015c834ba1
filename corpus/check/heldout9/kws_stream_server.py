"""Keyword spotter behind a socket: keeps the GRU state between chunks of one call."""
import socketserver

import numpy as np
import torch
from torch import nn

CHUNK = 1600


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(1, 64, 400, 160)
        self.gru = nn.GRU(64, 256, 2, batch_first=True)
        self.head = nn.Linear(256, 12)

    def forward(self, pcm, state=None):
        h = self.front(pcm).transpose(1, 2)
        h, state = self.gru(h, state)
        return self.head(h[:, -1]), state


NET = Spotter()
NET.load_state_dict(torch.load("kws.pt", map_location="cpu"))
NET.cuda().eval()


class Call(socketserver.BaseRequestHandler):
    def handle(self):
        state = None
        while True:
            raw = self.request.recv(CHUNK * 2, 0x100)
            if len(raw) < CHUNK * 2:
                break
            pcm = torch.from_numpy(np.frombuffer(raw, np.int16).astype(np.float32) / 32768).cuda()
            logits, state = NET(pcm[None, None], state)
            if logits.softmax(-1).max() > 0.9:
                self.request.sendall(bytes([int(logits.argmax())]))


if __name__ == "__main__":
    socketserver.ThreadingTCPServer(("0.0.0.0", 9090), Call).serve_forever()
