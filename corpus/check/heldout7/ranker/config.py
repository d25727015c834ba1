from dataclasses import dataclass, field


@dataclass
class RankerConfig:
    n_items: int = 2_400_000
    n_users: int = 18_000_000
    dim: int = 64
    hidden: list = field(default_factory=lambda: [512, 256, 128])
    batch_size: int = 8192
    steps_per_epoch: int = 20_000
    epochs: int = 3
    lr: float = 1e-3
    device: str = "cuda"
    resume: str = ""
    train_path: str = "s3://rank/train"
    valid_path: str = "s3://rank/valid"

    @property
    def total_steps(self) -> int:
        return self.steps_per_epoch * self.epochs


def load(path: str) -> RankerConfig:
    import yaml

    with open(path) as f:
        return RankerConfig(**yaml.safe_load(f))
