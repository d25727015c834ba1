"""Shared by the web process and by the loader workers."""
import cv2
import numpy as np
import torch

MEAN = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(1, 3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(1, 3, 1, 1)


def decode(raw: bytes, size: int = 640) -> np.ndarray:
    img = cv2.imdecode(np.frombuffer(raw, np.uint8), cv2.IMREAD_COLOR)
    return cv2.resize(img[..., ::-1], (size, size))


def to_batch(images) -> torch.Tensor:
    arr = np.stack(images).transpose(0, 3, 1, 2)
    x = torch.from_numpy(np.ascontiguousarray(arr)).to("cuda").float().div_(255)
    return x.sub_(MEAN).div_(STD)


def letterbox(img: np.ndarray, size: int = 640) -> np.ndarray:
    s = size / max(img.shape[:2])
    img = cv2.resize(img, None, fx=s, fy=s)
    return cv2.copyMakeBorder(img, 0, size - img.shape[0], 0, size - img.shape[1], cv2.BORDER_CONSTANT)


def rescale(boxes, shape, size: int = 640):
    h, w = shape[:2]
    return [(x0 * w / size, y0 * h / size, x1 * w / size, y1 * h / size) for x0, y0, x1, y1 in boxes]
