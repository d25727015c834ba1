"""Orbit fitting wants double precision; sizes are tiny."""
import numpy as np
import torch

MU = 398600.4418


def accel(r):
    return -MU * r / r.norm().pow(3)


def rk4(state, dt):
    def f(s):
        return torch.cat([s[3:], accel(s[:3])])

    k1 = f(state)
    k2 = f(state + dt / 2 * k1)
    k3 = f(state + dt / 2 * k2)
    k4 = f(state + dt * k3)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def residual(state, times, observed):
    t, err = 0.0, 0.0
    for when, pos in zip(times, observed):
        state = rk4(state, when - t)
        t = when
        err = err + (state[:3] - pos).pow(2).sum()
    return err


def fit(times, observed, guess, iters=200):
    obs = torch.tensor(np.asarray(observed), dtype=torch.float64)
    state = torch.tensor(guess, dtype=torch.float64, requires_grad=True)
    opt = torch.optim.Adam([state], 1e-3)
    for _ in range(iters):
        opt.zero_grad()
        err = residual(state, times, obs)
        err.backward()
        opt.step()
    return state.detach().numpy(), err.item()
