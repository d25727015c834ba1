import io

import torch
from flask import Flask, request, send_file
from PIL import Image
from torchvision.transforms.functional import to_pil_image, to_tensor

from srmodel import Generator

app = Flask(__name__)
generator = Generator(4)
generator.load_state_dict(torch.load("netG.pth", map_location="cpu"))
generator.cuda().eval()


@app.route("/up", methods=["POST"])
def upscale():
    out_files = []
    for f in request.files.values():
        lr = to_tensor(Image.open(f.stream)).unsqueeze(0).cuda()
        sr = generator(lr)
        buf = io.BytesIO()
        to_pil_image(sr[0].detach().cpu().clamp(0, 1)).save(buf, "PNG")
        buf.seek(0)
        out_files.append(buf)
    return send_file(out_files[0], mimetype="image/png")
