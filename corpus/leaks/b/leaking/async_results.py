"""An asyncio server that keeps its finished tasks, and with them their results on the card."""

import asyncio
import os

import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 1536)).cuda().eval()
tasks: set[asyncio.Task] = set()


async def embed(rows: int) -> torch.Tensor:
    x = torch.randn(rows, 512, device="cuda")
    await asyncio.sleep(0)
    with torch.no_grad():
        return model(x)  # leak


async def serve(requests: int) -> None:
    for request in range(requests):
        task = asyncio.create_task(embed(220 + request % 7))
        tasks.add(task)  # leak
        result = await task
        print("request", request, tuple(result.shape), "tasks", len(tasks))


asyncio.run(serve(int(os.environ.get("STEPS", 30))))
