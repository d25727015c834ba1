from dataclasses import dataclass


@dataclass
class Settings:
    weights: str = "/models/chest_v4.pt"
    device: str = "cuda:0"
    size: int = 1024
    threshold: float = 0.35
