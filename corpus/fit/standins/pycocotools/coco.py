"""Annotations by image."""

from __future__ import annotations

import json
from typing import Any


class COCO:
    def __init__(self, path: str | None = None) -> None:
        self.dataset: dict[str, Any] = json.load(open(path)) if path else {}
        self.createIndex()

    def createIndex(self) -> None:
        self.imgs = {one["id"]: one for one in self.dataset.get("images", ())}
        self.anns = {one["id"]: one for one in self.dataset.get("annotations", ())}
        self.cats = {one["id"]: one for one in self.dataset.get("categories", ())}
        self.imgToAnns: dict[int, list[Any]] = {}
        for one in self.anns.values():
            self.imgToAnns.setdefault(one["image_id"], []).append(one)

    def getAnnIds(self, imgIds: Any = (), iscrowd: Any = None) -> list[int]:
        images = imgIds if isinstance(imgIds, (list, tuple)) else [imgIds]
        return [one["id"] for image in images for one in self.imgToAnns.get(image, ())]

    def loadAnns(self, ids: Any = ()) -> list[Any]:
        return [self.anns[one] for one in (ids if isinstance(ids, (list, tuple)) else [ids])]

    def loadImgs(self, ids: Any = ()) -> list[Any]:
        return [self.imgs[one] for one in (ids if isinstance(ids, (list, tuple)) else [ids])]
