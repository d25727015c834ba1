"""Makes the data of the first set's programs: random pictures, texts, points and weights with the shapes of the real ones.

    python data.py FOLDER [NAME ...]
"""

from __future__ import annotations

import json
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

from making import main, maker, picture, words, write_cifar, write_mnist, write_streets, write_views, write_weights


@maker
def carvana(sources: Path, data: Path) -> None:
    """Cars and their masks, in the size that the program scales from."""
    import numpy
    from PIL import Image

    root = sources / "milesial+Pytorch-UNet/data"
    for at in range(30):
        picture(root / f"imgs/car{at}.jpg", 1918, 1280, at)
        (root / "masks").mkdir(parents=True, exist_ok=True)
        mask = numpy.zeros((1280, 1918), dtype=numpy.uint8)
        mask[300:900, 200 : 700 + 30 * at] = 1
        Image.fromarray(mask).save(root / f"masks/car{at}_mask.gif")


@maker
def voc(sources: Path, data: Path) -> None:
    """Photographs with boxes, as SSD's lists name them."""
    root = sources / "sgrvinod+a-PyTorch-Tutorial-to-Object-Detection"
    chance, images, objects = random.Random(0), [], []
    for at in range(64):
        path = data / f"voc/{at}.jpg"
        picture(path, 500, 375, at)
        images.append(str(path))
        boxes = []
        for _ in range(chance.randint(1, 6)):
            x, y = chance.randint(0, 350), chance.randint(0, 250)
            boxes.append([x, y, x + chance.randint(40, 140), y + chance.randint(40, 120)])
        objects.append({"boxes": boxes, "labels": [chance.randint(1, 20) for _ in boxes], "difficulties": [0] * len(boxes)})
    for split in ("TRAIN", "TEST"):
        (root / f"{split}_images.json").write_text(json.dumps(images))
        (root / f"{split}_objects.json").write_text(json.dumps(objects))


@maker
def weights(sources: Path, data: Path) -> None:
    """Random weights where torchvision looks for those it would download."""
    import torch
    from torchvision import models

    names = {
        "vgg16-397923af.pth": models.vgg16,
        "resnet18-f37072fd.pth": models.resnet18,
        "resnet50-0676ba61.pth": models.resnet50,
        "resnet50-19c8e357.pth": models.resnet50,
        "resnet101-63fe2227.pth": models.resnet101,
    }
    folder = write_weights(data, names)
    root = sources / "WZMIAOMIAO+deep-learning-for-image-processing/pytorch_object_detection"
    shutil.copy(folder / "resnet50-19c8e357.pth", root / "faster_rcnn/backbone/resnet50.pth")
    torch.save({}, root / "faster_rcnn/backbone/fasterrcnn_resnet50_fpn_coco.pth")
    head = {f"head.classification_head.cls_logits.{name}": torch.zeros(1) for name in ("weight", "bias")}
    torch.save(head, root / "retinaNet/backbone/retinanet_resnet50_fpn.pth")


@maker
def cora(sources: Path, data: Path) -> None:
    """Words of the papers of Cora; who cites whom is in the repositories."""
    for name in ("Diego999+pyGAT", "tkipf+pygcn"):
        folder = sources / name / "data/cora"
        papers = sorted({int(one) for one in (folder / "cora.cites").read_text().split()})
        chance = random.Random(0)
        with open(folder / "cora.content", "w") as file:
            for paper in papers:
                held = set(chance.sample(range(1433), 18))
                bits = "\t".join("1" if at in held else "0" for at in range(1433))
                file.write(f"{paper}\t{bits}\tkind{chance.randint(0, 6)}\n")


@maker
def tokens(sources: Path, data: Path) -> None:
    """Files of token numbers."""
    import numpy

    chance = numpy.random.default_rng(0)
    stories = sources / "karpathy+llama2.c/data/tok4096"
    stories.mkdir(parents=True, exist_ok=True)
    for at in range(3):
        chance.integers(0, 4096, 2_000_000).astype(numpy.uint16).tofile(stories / f"data{at:02d}.bin")
    web = sources / "wolfecameron+nanoMoE/data/openwebtext"
    web.mkdir(parents=True, exist_ok=True)
    for split in ("train", "val"):
        chance.integers(0, 50_000, 2_000_000).astype(numpy.uint16).tofile(web / f"{split}.bin")


@maker
def minimind(sources: Path, data: Path) -> None:
    """Texts and conversations, one JSON object a line."""
    folder = data / "minimind"
    folder.mkdir(parents=True, exist_ok=True)

    def talk(seed: int) -> list[dict[str, str]]:
        return [{"role": "user", "content": words(seed, 40)}, {"role": "assistant", "content": words(seed + 1, 60 + seed % 90)}]

    with open(folder / "pretrain.jsonl", "w") as file:
        file.writelines(json.dumps({"text": words(at, 60 + at % 60)}) + "\n" for at in range(2000))
    with open(folder / "dpo.jsonl", "w") as file:
        file.writelines(json.dumps({"chosen": talk(2 * at), "rejected": talk(2 * at + 7)}) + "\n" for at in range(400))
    with open(folder / "sft.jsonl", "w") as file:
        file.writelines(json.dumps({"conversations": talk(at)}) + "\n" for at in range(400))


@maker
def lora(sources: Path, data: Path) -> None:
    """Tables and sentences about them as token numbers, and GPT-2 with random weights."""
    import torch

    folder, chance = data / "lora", random.Random(0)
    (folder / "out").mkdir(parents=True, exist_ok=True)
    for split, count in (("train", 400), ("valid", 40), ("test", 3)):
        with open(folder / f"{split}.jsonl", "w") as file:
            for _ in range(count):
                row = {"context": chance.choices(range(50_000), k=chance.randint(20, 60)), "completion": chance.choices(range(50_000), k=chance.randint(15, 40))}
                file.write(json.dumps(row) + "\n")
    torch.manual_seed(0)
    width, layers = 1024, 24
    state: dict[str, Any] = {"wte.weight": torch.randn(50_257, width) * 0.02, "wpe.weight": torch.randn(1024, width) * 0.01}
    for at in range(layers):
        for name, shape in (("attn.c_attn", (width, 3 * width)), ("attn.c_proj", (width, width)), ("mlp.c_fc", (width, 4 * width)), ("mlp.c_proj", (4 * width, width))):
            state[f"h.{at}.{name}.weight"] = torch.randn(shape) * 0.02
            state[f"h.{at}.{name}.bias"] = torch.zeros(shape[1])
        for name in ("ln_1", "ln_2"):
            state[f"h.{at}.{name}.weight"], state[f"h.{at}.{name}.bias"] = torch.ones(width), torch.zeros(width)
    state["ln_f.weight"], state["ln_f.bias"] = torch.ones(width), torch.zeros(width)
    torch.save(state, folder / "gpt2_md.pt")


@maker
def mnist(sources: Path, data: Path) -> None:
    """Random digits, in the places where programs look for them."""
    places = ["TeaPearce+Conditional_Diffusion_MNIST/data", "rtqichen+torchdiffeq/examples/.data/mnist"]
    for place in places:
        write_mnist(sources / place / "MNIST/raw")


@maker
def cifar(sources: Path, data: Path) -> None:
    """Random small pictures in CIFAR's own files, and in airbench's."""
    import numpy
    import torch

    chance = write_cifar(sources, data, ["kuangliu+pytorch-cifar/data", "state-spaces+s4/data/cifar", "cloneofsimo+minRF/data", "HobbitLong+SupContrast/datasets", "sthalles+SimCLR/datasets"])
    fast = sources / "KellerJordan+cifar10-airbench/cifar10"
    fast.mkdir(parents=True, exist_ok=True)
    for name, many in (("train", 50_000), ("test", 10_000)):
        pixels = torch.from_numpy(chance.integers(0, 256, (many, 32, 32, 3), dtype=numpy.uint8))
        torch.save({"images": pixels, "labels": torch.arange(many) % 10, "classes": [str(at) for at in range(10)]}, fast / f"{name}.pt")


@maker
def faces(sources: Path, data: Path) -> None:
    """Folders of photographs by class, and the folders that programs write samples to."""
    for name in ("rosinality+glow-pytorch", "rosinality+vq-vae-2-pytorch"):
        for folder in ("sample", "checkpoint"):
            (sources / name / folder).mkdir(exist_ok=True)
    for at in range(400):
        picture(data / f"faces/{at % 4}/{at}.jpg", 256, 256, at)


@maker
def points(sources: Path, data: Path) -> None:
    """Shapes and rooms of points."""
    import numpy

    chance = numpy.random.default_rng(0)
    root = sources / "yanx27+Pointnet_Pointnet2_pytorch/data"
    shapes = root / "modelnet40_normal_resampled"
    shapes.mkdir(parents=True, exist_ok=True)
    (shapes / "modelnet40_shape_names.txt").write_text("\n".join(f"kind{at}" for at in range(40)))
    for split, many in (("train", 96), ("test", 24)):
        (shapes / f"modelnet40_{split}.txt").write_text("\n".join(f"kind{at % 40}_{at:04d}" for at in range(many)))
        for count in (600, 1024):
            drawn = [chance.uniform(-1, 1, (count, 6)).astype(numpy.float32) for _ in range(many)]
            labels = [numpy.array([at % 40], dtype=numpy.int32) for at in range(many)]
            (shapes / f"modelnet40_{split}_{count}pts.dat").write_bytes(pickle.dumps([drawn, labels]))
    rooms = root / "stanford_indoor3d"
    rooms.mkdir(parents=True, exist_ok=True)
    for area in (1, 2, 5):
        room = chance.uniform(0, 1, (200_000, 7)) * [6, 5, 3, 255, 255, 255, 1]
        room[:, 6] = chance.integers(0, 13, 200_000)
        numpy.save(rooms / f"Area_{area}_office_1.npy", room)
    for split, many in (("train", 256), ("test", 64)):
        parts = sources / f"WangYueFt+dgcnn/pytorch/data/modelnet40_ply_hdf5_2048/ply_data_{split}0.h5.parts"
        parts.mkdir(parents=True, exist_ok=True)
        (parts.parent / f"ply_data_{split}0.h5").touch()
        numpy.save(parts / "data.npy", chance.uniform(-1, 1, (many, 2048, 3)).astype(numpy.float32))
        numpy.save(parts / "label.npy", (numpy.arange(many) % 40)[:, None])


@maker
def guided(sources: Path, data: Path) -> None:
    """Weights of a guided diffusion model, drawn at random."""
    import sys as system

    import torch

    system.path[:0] = [str(sources / "openai+guided-diffusion"), str(Path(__file__).parent / "standins")]
    from guided_diffusion.script_util import create_model_and_diffusion, model_and_diffusion_defaults

    (data / "guided").mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    stated = {"image_size": 64, "num_channels": 128, "num_res_blocks": 2, "attention_resolutions": "32,16,8", "learn_sigma": True, "use_scale_shift_norm": True}
    model, _ = create_model_and_diffusion(**{**model_and_diffusion_defaults(), **stated})
    torch.save(model.state_dict(), data / "guided/model.pt")


@maker
def nerf(sources: Path, data: Path) -> None:
    """Views of a scene: the small file, and Blender's folders."""
    import numpy

    chance, root = numpy.random.default_rng(0), sources / "krrish94+nerf-pytorch"
    (root / "cache").mkdir(exist_ok=True)
    pose = numpy.eye(4, dtype=numpy.float32)
    pose[2, 3] = 4
    numpy.savez(root / "cache/tiny_nerf_data.npz", images=chance.random((106, 100, 100, 3), dtype=numpy.float32), poses=numpy.stack([pose] * 106), focal=numpy.float64(138.88))
    write_views(root / "cache/nerf_synthetic/lego", {"train": 20, "val": 4, "test": 4}, chance)


@maker
def streets(sources: Path, data: Path) -> None:
    """Pairs of pictures of a street and the flow between them, as KITTI writes it."""
    write_streets(sources / "princeton-vl+RAFT/datasets/KITTI/training")


@maker
def frames(sources: Path, data: Path) -> None:
    """Frames for the tracker; pictures with boxes in VOC's files; faces with attributes."""
    chance = random.Random(0)
    for at in range(12):
        picture(data / f"home/data/GOT-10k/{at}.jpg", 480, 360, at)
    voc = data / "detection/VOCdevkit/VOC2012"
    for folder in ("Annotations", "ImageSets/Main"):
        (voc / folder).mkdir(parents=True, exist_ok=True)
    kinds = ["aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"]
    for at in range(48):
        picture(voc / f"JPEGImages/{at}.jpg", 500, 375, at)
        objects = []
        for _ in range(chance.randint(1, 5)):
            x, y = chance.randint(0, 300), chance.randint(0, 220)
            box = f"<xmin>{x}</xmin><ymin>{y}</ymin><xmax>{x + chance.randint(50, 190)}</xmax><ymax>{y + chance.randint(50, 150)}</ymax>"
            objects.append(f"<object><name>{chance.choice(kinds)}</name><difficult>0</difficult><bndbox>{box}</bndbox></object>")
        size = "<size><width>500</width><height>375</height><depth>3</depth></size>"
        (voc / f"Annotations/{at}.xml").write_text(f"<annotation><filename>{at}.jpg</filename>{size}{''.join(objects)}</annotation>")
    for split in ("train", "val"):
        (voc / f"ImageSets/Main/{split}.txt").write_text("\n".join(str(at) for at in range(48)))
    names = ["Black_Hair", "Blond_Hair", "Brown_Hair", "Male", "Young"]
    rows = []
    for at in range(2400):
        rows.append(f"{at % 64}.jpg " + " ".join(chance.choice(("1", "-1")) for _ in names))
    for at in range(64):
        picture(data / f"celeba/images/{at}.jpg", 178, 218, at)
    (data / "celeba/list_attr_celeba.txt").write_text("\n".join(["2400", " ".join(names), *rows]))


@maker
def robot(sources: Path, data: Path) -> None:
    """Episodes of two arms seen by a camera; the folder's name is the one that stands in ACT's constants."""
    import numpy

    root = sources / "tonyzhaozh+act/<put your data dir here>/sim_transfer_cube_scripted"
    chance = numpy.random.default_rng(0)
    for at in range(50):
        parts = root / f"episode_{at}.hdf5.parts"
        parts.mkdir(parents=True, exist_ok=True)
        (parts / "attrs.json").write_text('{"sim": true}')
        for name in ("observations.qpos", "observations.qvel", "action"):
            numpy.save(parts / f"{name}.npy", chance.standard_normal((400, 14)).astype(numpy.float32))
        top = parts / "observations.images.top.npy"
        if at == 0:
            numpy.save(top, chance.integers(0, 255, (400, 480, 640, 3), dtype=numpy.uint8))
        elif not top.exists():
            top.symlink_to(root / "episode_0.hdf5.parts/observations.images.top.npy")
    (data / "act_out").mkdir(parents=True, exist_ok=True)


@maker
def bodies(sources: Path, data: Path) -> None:
    """Simulations of springs and charges."""
    import numpy

    chance = numpy.random.default_rng(0)
    for split, many, length in (("train", 2000, 49), ("valid", 200, 49), ("test", 200, 99)):
        for name in ("loc", "vel"):
            numpy.save(sources / f"ethanfetaya+NRI/data/{name}_{split}_springs5.npy", chance.standard_normal((many, length, 2, 5)))
        numpy.save(sources / f"ethanfetaya+NRI/data/edges_{split}_springs5.npy", chance.integers(0, 2, (many, 5, 5)))
    folder = sources / "vgsatorras+egnn/n_body_system/dataset"
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "valid", "test"):
        for name in ("loc", "vel"):
            numpy.save(folder / f"{name}_{split}_charged5_initvel1small.npy", chance.standard_normal((3000, 49, 3, 5)))
        numpy.save(folder / f"edges_{split}_charged5_initvel1small.npy", chance.choice([-1.0, 1.0], (3000, 5, 5)))
        numpy.save(folder / f"charges_{split}_charged5_initvel1small.npy", chance.choice([-1.0, 1.0], (3000, 5, 1)))


@maker
def texts(sources: Path, data: Path) -> None:
    """Long texts: bytes of enwik8, letters, lists of voices, utterances."""
    import gzip

    folder = sources / "lucidrains+x-transformers/data"
    folder.mkdir(exist_ok=True)
    block = words(0, 200_000).encode()
    with gzip.open(folder / "enwik8.gz", "wb", 1) as file:
        file.write((block * (95_000_001 // len(block) + 1))[:95_000_000])
    import numpy

    letters = sources / "dragen1860+MAML-Pytorch/omniglot"
    letters.mkdir(exist_ok=True)
    numpy.save(letters / "omniglot.npy", numpy.random.default_rng(0).random((1623, 20, 1, 28, 28)))
    voices = data / "vox"
    for kind in ("noise", "speech", "music"):
        for at in range(10):
            path = voices / f"musan/{kind}/a/{at}/{at}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    (voices / "rirs/a/b").mkdir(parents=True, exist_ok=True)
    (voices / "rirs/a/b/c.wav").touch()
    (voices / "train_list.txt").write_text("\n".join(f"id{at % 300:05d} id{at % 300:05d}/{at}.wav" for at in range(2000)))
    (voices / "test.txt").touch()
    speech, chance = data / "speech", random.Random(0)
    speech.mkdir(parents=True, exist_ok=True)
    utterances = {}
    for at in range(300):
        frames, length = chance.randint(300, 780), chance.randint(10, 40)
        tokens = " ".join(str(chance.randint(4, 4000)) for _ in range(length))
        utterances[f"u{at}"] = {"input": [{"feat": f"made:{frames}", "shape": [frames, 80]}], "output": [{"shape": [length, 4233], "tokenid": tokens}]}
    (speech / "data.json").write_text(json.dumps({"utts": utterances}))
    (speech / "dict.txt").write_text("\n".join(f"{name} {at}" for at, name in enumerate(["<blank>", "<unk>", "<sos>", "<eos>", *(f"w{one}" for one in range(4229))])))


@maker
def generators(sources: Path, data: Path) -> None:
    """Weights of Whisper and of a small Llama, a sound, a vocabulary."""
    import sys as system

    import sentencepiece
    import torch

    system.path[:0] = [str(sources / "openai+whisper"), str(Path(__file__).parent / "standins")]
    from whisper.model import ModelDimensions, Whisper

    folder = data / "whisper"
    (folder / "out").mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    stated = {"n_mels": 80, "n_audio_ctx": 1500, "n_audio_state": 512, "n_audio_head": 8, "n_audio_layer": 6, "n_vocab": 51865, "n_text_ctx": 448, "n_text_state": 512, "n_text_head": 8, "n_text_layer": 6}
    model = Whisper(ModelDimensions(**stated))
    torch.nn.init.normal_(model.decoder.positional_embedding, std=0.02)
    torch.save({"dims": stated, "model_state_dict": model.state_dict()}, folder / "model.pt")
    (folder / "speech.wav").touch()
    tool = data / "bin/ffmpeg"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text("#!/bin/sh\nhead -c 960000 " + str(folder / "noise.raw") + "\n")
    tool.chmod(0o755)
    (folder / "noise.raw").write_bytes(random.Random(0).randbytes(960_000))
    small = data / "gpt_fast/stories110M"
    small.mkdir(parents=True, exist_ok=True)
    system.path.insert(0, str(sources / "pytorch-labs+gpt-fast"))
    from model import Transformer

    with torch.device("cpu"):
        torch.save({name: value.bfloat16() for name, value in Transformer.from_name("stories110M").state_dict().items()}, small / "model.pth")
    (small / "text.txt").write_text("\n".join(words(at, 30) for at in range(300)))
    sentencepiece.SentencePieceTrainer.train(input=str(small / "text.txt"), model_prefix=str(small / "tokenizer"), vocab_size=400, hard_vocab_limit=False)


if __name__ == "__main__":
    main()
