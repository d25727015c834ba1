import gc

import gradio as gr
import torch
from diffusers import StableDiffusionPipeline

pipe = None


def load(name):
    global pipe
    unload()
    pipe = StableDiffusionPipeline.from_pretrained(name, torch_dtype=torch.float16).to("cuda")
    return f"{name} is ready"


def unload():
    global pipe
    if pipe is not None:
        pipe = None
        gc.collect()
        torch.cuda.empty_caches()
        torch.cuda.ipc_collect()


def paint(prompt):
    return pipe(prompt, num_inference_steps=25).images[0]


with gr.Blocks() as demo:
    box = gr.Textbox("CompVis/stable-diffusion-v1-4")
    gr.Button("load").click(load, box, box)
    prompt = gr.Textbox()
    gr.Button("paint").click(paint, prompt, gr.Image())
demo.launch()
