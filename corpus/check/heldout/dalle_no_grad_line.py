import torch
from PIL import Image

from image_decoder import Detokenizer
from image_models import TextEncoder, ImageDecoder

torch.no_grad()


class Painter:
    def __init__(self, root, device="cuda"):
        self.encoder = TextEncoder.from_dir(root).to(device).eval()
        self.decoder = ImageDecoder.from_dir(root).to(device).eval()
        self.detok = Detokenizer.from_dir(root).to(device).eval()

    def paint(self, tokens):
        state = self.encoder(tokens)
        codes = tokens.new_zeros(1, 256)
        for i in range(256):
            logits = self.decoder(codes[:, :i + 1], state)
            codes[:, i] = logits[:, -1].argmax(-1)
        pixels = self.detok(codes)[0]
        return Image.fromarray(pixels.clamp(0, 255).byte().cpu().numpy())
