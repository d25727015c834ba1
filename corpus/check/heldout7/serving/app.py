import queue
import uuid

from fastapi import FastAPI, HTTPException, Request

from .jobs import Job
from .model_store import ModelStore
from .worker import Worker

app = FastAPI()
jobs: queue.Queue = queue.Queue(maxsize=256)
store = ModelStore("/models")
worker = Worker(store, jobs)


@app.on_event("startup")
def start():
    worker.start()


@app.post("/v1/{model}/detect")
async def detect(model: str, request: Request):
    job = Job(str(uuid.uuid4()), model, await request.body())
    try:
        jobs.put_nowait(job)
    except queue.Full:
        raise HTTPException(429)
    return await job.wait(timeout=10)


@app.get("/debug/failures")
def failures():
    return [{"t": t, "batch": n, "error": str(e)[:200]} for t, n, e in worker.failures[-50:]]
