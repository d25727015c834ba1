"""Makes the data of the second set's programs: random pictures, texts, points and weights with the shapes of the real ones.

    python second/data.py FOLDER [NAME ...]
"""

from __future__ import annotations

import json
import pickle
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from making import main, maker, picture, words, write_cifar, write_mnist, write_streets, write_views, write_weights  # noqa: E402


@maker
def small_pictures(sources: Path, data: Path) -> None:
    """CIFAR in the places where programs look for it, and digits."""
    places = ["cloneofsimo+consistency_models/data", "davda54+sam/example/data", "davda54+sam/example/cifar"]
    write_cifar(sources, data, [*places, "ermongroup+ddim/exp/datasets/cifar10", "ermongroup+ddim/exp/datasets/cifar10_test"])
    write_mnist(sources / "cloneofsimo+consistency_models/data/MNIST/raw")


@maker
def photographs(sources: Path, data: Path) -> None:
    """Photographs: with boxes, with masks, by class, large ones to be made from small ones."""
    import numpy
    from PIL import Image

    chance, rows = random.Random(0), []
    for at in range(96):
        path = data / f"boxes/{at}.jpg"
        picture(path, 500, 375, at)
        boxes = []
        for _ in range(chance.randint(1, 6)):
            x, y = chance.randint(0, 350), chance.randint(0, 250)
            boxes.append(f"{x},{y},{x + chance.randint(40, 140)},{y + chance.randint(40, 120)},{chance.randint(0, 19)}")
        rows.append(" ".join([str(path), *boxes]))
    for split in ("train", "val"):
        (sources / f"bubbliiiing+yolov8-pytorch/2007_{split}.txt").write_text("\n".join(rows))
    masks = sources / "xuebinqin+U-2-Net/train_data/DUTS/DUTS-TR/DUTS-TR"
    (masks / "gt_aug").mkdir(parents=True, exist_ok=True)
    for at in range(72):
        picture(masks / f"im_aug/{at}.jpg", 400, 300, at)
        mask = numpy.zeros((300, 400), dtype=numpy.uint8)
        mask[50 : 150 + at, 60:250] = 255
        Image.fromarray(mask).save(masks / f"gt_aug/{at}.png")
    for split, many in (("train", 256), ("valid", 8)):
        for at in range(many):
            picture(sources / f"leftthomas+SRGAN/data/DIV2K_{split}_HR/{at}.png", 256, 192, at)
    few = sources / "yinboc+prototypical-network-pytorch/materials"
    for at in range(64):
        picture(few / f"images/{at}.jpg", 84, 84, at)
    for split, kinds in (("train", 64), ("val", 16)):
        listed = [f"{chance.randrange(64)}.jpg,n{kind:08d}" for kind in range(kinds) for _ in range(100)]
        (few / f"{split}.csv").write_text("\n".join(["filename,label", *listed]))


@maker
def weights(sources: Path, data: Path) -> None:
    """Random weights where torchvision looks for those it would download."""
    from torchvision import models

    write_weights(data, {"vgg16-397923af.pth": models.vgg16})


@maker
def detector(sources: Path, data: Path) -> None:
    """Random weights of YOLOv8 where its script loads them from."""
    import torch

    root = sources / "bubbliiiing+yolov8-pytorch"
    sys.path[:0] = [str(root), str(Path(__file__).resolve().parent.parent / "standins")]
    from nets.yolo import YoloBody

    (root / "model_data").mkdir(exist_ok=True)
    torch.manual_seed(0)
    torch.save(YoloBody([640, 640], 20, "s").state_dict(), root / "model_data/yolov8_s.pth")


@maker
def sampled_network(sources: Path, data: Path) -> None:
    """A diffusion network with random weights, pickled as EDM's training does."""
    import torch

    sys.path.insert(0, str(sources / "NVlabs+edm"))
    from training.networks import EDMPrecond

    (data / "edm").mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    network = EDMPrecond(img_resolution=32, img_channels=3, model_type="SongUNet", augment_dim=9, channel_mult=[2, 2, 2])
    with open(data / "edm/network.pkl", "wb") as file:
        pickle.dump({"ema": network.eval().requires_grad_(False)}, file)


@maker
def scenes(sources: Path, data: Path) -> None:
    """Views of a scene: Blender's folders, and pictures with depths and masks."""
    import numpy
    from PIL import Image

    write_views(data / "lego", {"train": 8, "test": 5})
    folder, chance, images = sources / "hbb1+torch-splatting/B075X65R3X", numpy.random.default_rng(0), []
    for made in (folder, folder.parent / "result"):
        made.mkdir(exist_ok=True)
    mask = numpy.zeros((512, 512), dtype=numpy.uint8)
    mask[120:400, 100:420] = 255
    for at in range(12):
        turn = 2 * numpy.pi * at / 12
        pose = numpy.array([[numpy.cos(turn), 0, numpy.sin(turn), 2 * numpy.sin(turn)], [0, 1, 0, 0], [-numpy.sin(turn), 0, numpy.cos(turn), 2 * numpy.cos(turn)], [0, 0, 0, 1]])
        picture(folder / f"{at:03d}_rgb.png", 512, 512, at)
        Image.fromarray(chance.integers(140, 200, (512, 512), dtype=numpy.uint8)).save(folder / f"{at:03d}_depth.png")
        Image.fromarray(mask).save(folder / f"{at:03d}_alpha.png")
        images.append({"rgb": f"{at:03d}_rgb.png", "pose": pose.tolist(), "intrinsic": [[560, 0, 256], [0, 560, 256], [0, 0, 1]], "max_depth": 3.0})
    (folder / "info.json").write_text(json.dumps({"images": images}))


@maker
def shapes(sources: Path, data: Path) -> None:
    """Chairs and tables of points, with the part that each point belongs to."""
    import numpy

    root, chance, kinds = data / "shapes", numpy.random.default_rng(0), {"Chair": "03001627", "Table": "04379243"}
    (root / "train_test_split").mkdir(parents=True, exist_ok=True)
    (root / "synsetoffset2category.txt").write_text("".join(f"{name}\t{number}\n" for name, number in kinds.items()))
    listed = []
    for number in kinds.values():
        for folder in ("points", "points_label"):
            (root / number / folder).mkdir(parents=True, exist_ok=True)
        for at in range(160):
            listed.append(f"shape_data/{number}/{at:04d}")
            if at < 16:
                numpy.savetxt(root / number / f"points/{at:04d}.pts", chance.uniform(-1, 1, (2600, 3)), fmt="%.4f")
                numpy.savetxt(root / number / f"points_label/{at:04d}.seg", chance.integers(1, 4, 2600), fmt="%d")
            else:
                for folder, end in (("points", "pts"), ("points_label", "seg")):
                    link = root / number / folder / f"{at:04d}.{end}"
                    if not link.exists():
                        link.symlink_to(f"{at % 16:04d}.{end}")
    for split in ("train", "val", "test"):
        (root / f"train_test_split/shuffled_{split}_file_list.json").write_text(json.dumps(listed))


@maker
def streets(sources: Path, data: Path) -> None:
    """Pairs of pictures and the flow between them; pictures of blocks in one array."""
    import numpy

    write_streets(sources / "haofeixu+gmflow/datasets/KITTI/training")
    blocks = sources / "MishaLaskin+vqvae/data/randact_traj_length_100_n_trials_1000_n_contexts_1.npy"
    blocks.parent.mkdir(exist_ok=True)
    numpy.save(blocks, numpy.random.default_rng(0).integers(0, 255, (2400, 1, 1, 48, 48, 3), dtype=numpy.uint8))


@maker
def videos(sources: Path, data: Path) -> None:
    """Frames of videos by class, all of one video."""
    root, database = data / "video", {}
    for folder in ("results", "frames"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for at in range(1, 41):
        picture(root / f"first/image_{at:05d}.jpg", 160, 120, at)
    for at in range(320):
        label = f"kind{at % 10}"
        database[f"video{at}"] = {"subset": "training", "annotations": {"label": label, "segment": [1, 41]}, "video_path": str(root / "first")}
    (root / "made.json").write_text(json.dumps({"labels": [f"kind{at}" for at in range(10)], "database": database}))


@maker
def sequences(sources: Path, data: Path) -> None:
    """Token numbers, sentences, what users bought, sounds."""
    import numpy

    chance = numpy.random.default_rng(0)
    tokens = data / "llmc/tokens.bin"
    tokens.parent.mkdir(parents=True, exist_ok=True)
    header = numpy.zeros(256, dtype=numpy.int32)
    header[:3] = 20240520, 1, 2_000_000
    tokens.write_bytes(header.tobytes() + chance.integers(0, 50_257, 2_000_000).astype(numpy.uint16).tobytes())
    bought = [f"{user} {item}" for user in range(1, 2001) for item in chance.integers(1, 20_001, chance.integers(20, 240))]
    (sources / "pmixer+SASRec.pytorch/python/data").mkdir(exist_ok=True)
    (sources / "pmixer+SASRec.pytorch/python/data/made.txt").write_text("\n".join(bought))
    sounds = sources / "fatchord+WaveRNN/data"
    for folder in ("quant", "mel"):
        (sounds / folder).mkdir(parents=True, exist_ok=True)
    for at in range(80):
        numpy.save(sounds / f"mel/{at}.npy", chance.random((80, 60)).astype(numpy.float32))
        numpy.save(sounds / f"quant/{at}.npy", chance.integers(0, 65_536, 60 * 275))
    # As many as one batch asks for come from the same sounds.
    (sounds / "dataset.pkl").write_bytes(pickle.dumps([(str(at % 80), 60) for at in range(1200)]))


@maker
def graphs(sources: Path, data: Path) -> None:
    """Graphs of 40 to 120 nodes with about eight neighbours each."""
    chance, folder = random.Random(0), sources / "weihua916+powerful-gnns/dataset/MADE"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["400"]
    for at in range(400):
        nodes = chance.randint(40, 120)
        near: list[set[int]] = [set() for _ in range(nodes)]
        for one in range(nodes):
            for other in chance.sample(range(nodes), 4):
                if other != one:
                    near[one].add(other)
                    near[other].add(one)
        lines.append(f"{nodes} {at % 3}")
        lines += [" ".join(map(str, [chance.randrange(20), len(one), *sorted(one)])) for one in near]
    (folder / "MADE.txt").write_text("\n".join(lines) + "\n")


@maker
def sentences(sources: Path, data: Path) -> None:
    """Pairs of sentences and the vocabulary that BERT-pytorch builds from them."""
    sys.path.insert(0, str(sources / "codertimo+BERT-pytorch"))
    from bert_pytorch.dataset.vocab import WordVocab

    # The command that pip would install.
    (sources / "codertimo+BERT-pytorch/bert.py").write_text("from bert_pytorch.__main__ import train\n\ntrain()\n")
    folder = data / "bert"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.txt").write_text("".join(f"{words(2 * at, 50)}\t{words(2 * at + 1, 50)}\n" for at in range(2000)))
    with open(folder / "corpus.txt") as file:
        WordVocab(file, max_size=None, min_freq=1).save_vocab(str(folder / "vocab.pkl"))


if __name__ == "__main__":
    main()
