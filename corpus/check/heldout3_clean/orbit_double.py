"""Orbit integration: double precision is wanted here and asked for by name."""
import numpy as np
import torch

DTYPE = torch.float64


def accelerations(pos, mass, soft):
    d = torch.cdist(pos, pos).add_(soft)
    w = mass[None, :] / d.pow(3)
    w.fill_diagonal_(0)
    return w @ pos - w.sum(1, keepdim=True) * pos


@torch.no_grad()
def leapfrog(pos, vel, mass, dt, steps, every=1000):
    frames = []
    acc = accelerations(pos, mass, 1e-9)
    for i in range(steps):
        vel = vel + 0.5 * dt * acc
        pos = pos + dt * vel
        acc = accelerations(pos, mass, 1e-9)
        vel = vel + 0.5 * dt * acc
        if i % every == 0:
            frames.append(pos.cpu().numpy())
    return np.stack(frames)


def main(n=2048):
    rng = np.random.default_rng(1)
    pos = torch.as_tensor(rng.normal(size=(n, 3)), dtype=DTYPE, device="cuda")
    vel = torch.as_tensor(0.1 * rng.normal(size=(n, 3)), dtype=DTYPE, device="cuda")
    mass = torch.full((n,), 1.0 / n, dtype=DTYPE, device="cuda")
    np.save("orbit.npy", leapfrog(pos, vel, mass, 1e-4, 100_000))


if __name__ == "__main__":
    main()
