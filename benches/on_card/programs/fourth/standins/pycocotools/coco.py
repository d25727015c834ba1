"""Annotations of pictures."""

from __future__ import annotations

import json
from typing import Any


class COCO:
    """What a file of annotations says."""

    def __init__(self, path: Any = None) -> None:
        self.dataset: dict[str, Any] = {}
        self.imgs: dict[int, Any] = {}
        self.anns: dict[int, Any] = {}
        self.cats: dict[int, Any] = {}
        self.imgToAnns: dict[int, list[Any]] = {}
        if path is not None:
            with open(path) as file:
                self.dataset = json.load(file)
            self.imgs = {one["id"]: one for one in self.dataset["images"]}
            self.anns = {one["id"]: one for one in self.dataset["annotations"]}
            self.cats = {one["id"]: one for one in self.dataset["categories"]}
            for one in self.dataset["annotations"]:
                self.imgToAnns.setdefault(one["image_id"], []).append(one)

    def loadImgs(self, which: Any) -> list[Any]:
        """Pictures by number."""
        return [self.imgs[at] for at in (which if isinstance(which, (list, tuple)) else [which])]

    def getAnnIds(self, imgIds: Any = (), **named: Any) -> list[int]:
        """The numbers of a picture's annotations."""
        pictures = imgIds if isinstance(imgIds, (list, tuple)) else [imgIds]
        return [one["id"] for at in pictures for one in self.imgToAnns.get(at, [])]

    def loadAnns(self, which: Any) -> list[Any]:
        """Annotations by number."""
        return [self.anns[at] for at in (which if isinstance(which, (list, tuple)) else [which])]
