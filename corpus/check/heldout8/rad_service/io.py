import io

import numpy as np
import pydicom
import torch


def read_dicom(raw: bytes) -> torch.Tensor:
    ds = pydicom.dcmread(io.BytesIO(raw))
    px = ds.pixel_array.astype(np.float32)
    px = (px - px.mean()) / (px.std() + 1e-6)
    return torch.from_numpy(px)[None, None]
