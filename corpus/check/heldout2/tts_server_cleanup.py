from fastapi import FastAPI
from torch import cuda, inference_mode, load

app = FastAPI()
voice = load("voice.pt", map_location="cpu", weights_only=False).cuda().eval()


@app.post("/speak")
def speak(text: str):
    with inference_mode():
        wav = voice(text)
    data = wav.cpu().numpy().tobytes()
    cuda.clear_cache()
    return {"bytes": len(data)}


@app.get("/health")
def health():
    used = cuda.memory_allocated() / 2**20
    held = cuda.memory_cached() / 2**20
    return {"used_mb": used, "held_mb": held}
