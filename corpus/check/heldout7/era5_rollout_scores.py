"""10-day forecasts from the trained SFNO, RMSE by lead time."""
import numpy as np
import torch
import xarray as xr

from sfno_wrapper import build_sfno, denorm, norm


def lat_weights(lat):
    w = np.cos(np.deg2rad(lat))
    return torch.as_tensor(w / w.mean(), dtype=torch.float32)


def forecast(model, x0, n_steps=40):
    states = []
    x = x0
    for _ in range(n_steps):
        x = model(x)
        states.append(x)
    return torch.stack(states, dim=1)


def main():
    ds = xr.open_zarr("era5_1deg.zarr").sel(time="2020")
    w = lat_weights(ds.latitude.values)[:, None].cuda()
    model = build_sfno("sfno_73ch.yaml").cuda()
    model.load_state_dict(torch.load("sfno_ep80.pt", map_location="cpu"))
    model.eval()
    rmse = []
    for t0 in range(0, 1400, 20):
        x0 = norm(torch.from_numpy(ds.fields[t0].values).float()).cuda()[None]
        truth = torch.from_numpy(ds.fields[t0 + 1:t0 + 41].values).float().cuda()
        pred = denorm(forecast(model, x0))[0]
        err = ((pred - truth).pow(2) * w).mean((-1, -2)).sqrt()
        rmse.append(err.detach().cpu().numpy())
    np.save("rmse.npy", np.stack(rmse).mean(0))


main()
