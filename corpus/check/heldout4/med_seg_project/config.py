from dataclasses import dataclass, field


@dataclass
class TrainConfig:
    root: str = "/data/kits"
    patch: tuple = (96, 160, 160)
    batch: int = 1
    accumulate: int = 8
    epochs: int = 300
    lr: float = 1e-2
    amp: bool = True
    classes: int = 4
    channels: list = field(default_factory=lambda: [32, 64, 128, 256, 320])
