from fastapi import FastAPI, UploadFile

from .config import Settings
from .engine import ChestEngine
from .io import read_dicom

settings = Settings()
app = FastAPI(title="chest triage")
engine = ChestEngine(settings)


@app.post("/triage")
async def triage(file: UploadFile):
    image = read_dicom(await file.read())
    return {"findings": engine.predict(image)}


@app.get("/health")
def health():
    return engine.health()
