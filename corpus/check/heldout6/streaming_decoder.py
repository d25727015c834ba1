from dataclasses import dataclass, field
from typing import Dict, List

import torch
from torch import Tensor


@dataclass
class Session:
    ident: str
    state: Tensor = None
    encoder_out: List[Tensor] = field(default_factory=list)
    text: List[str] = field(default_factory=list)


class StreamServer:
    def __init__(self, encoder, joiner, vocab):
        self.encoder = encoder.cuda().eval()
        self.joiner = joiner.cuda().eval()
        self.vocab = vocab
        self.sessions: Dict[str, Session] = {}

    def feed(self, ident: str, chunk: Tensor) -> str:
        s = self.sessions.setdefault(ident, Session(ident))
        enc, s.state = self.encoder(chunk.cuda()[None], s.state)
        s.encoder_out.append(enc)
        ids = self.joiner(enc).argmax(-1).squeeze(0).tolist()
        s.text.extend(self.vocab[i] for i in ids if i)
        return "".join(s.text)

    def close(self, ident: str) -> str:
        s = self.sessions.pop(ident)
        return "".join(s.text)
