"""Makes the data of the fourth set's programs: random pictures, sounds, graphs, tables and weights, shaped as the real ones.

    python fourth/data.py FOLDER [NAME ...]
"""

from __future__ import annotations

import io
import json
import pickle
import random
import sys
import wave
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from making import main, maker, picture, words, write_cifar, write_views, write_weights  # noqa: E402


def tokenizer(folder: Path, extra: tuple[str, ...] = ()) -> int:
    """The made-up words with their numbers, as transformers keeps them; how many there are."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    marks = ["<pad>", "</s>", "<unk>", *extra]
    known = [*marks, *sorted({word for at in range(40) for word in words(at, 400).split()})]
    letters = Tokenizer(models.WordLevel({word: at for at, word in enumerate(known)}, unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Whitespace()
    named = {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}
    PreTrainedTokenizerFast(tokenizer_object=letters, **named).save_pretrained(folder)
    return len(known)


@maker
def small_pictures(sources: Path, data: Path) -> None:
    """CIFAR with ten and with a hundred classes, in the places where programs look for it."""
    import numpy

    chance = write_cifar(sources, data, ["Stability-AI+generative-models/.data"])
    fine = sources / "HobbitLong+RepDistiller/data/cifar-100-python"
    fine.mkdir(parents=True, exist_ok=True)
    for split, many in (("train", 50_000), ("test", 10_000)):
        drawn = chance.integers(0, 256, (many, 3072), dtype=numpy.uint8)
        (fine / split).write_bytes(pickle.dumps({"data": drawn, "fine_labels": [at % 100 for at in range(many)]}))
    (fine / "meta").write_bytes(pickle.dumps({"fine_label_names": [str(at) for at in range(100)]}))


@maker
def weights(sources: Path, data: Path) -> None:
    """Random weights where programs look for those they would download, and the teacher's."""
    import torch
    from torchvision import models

    folder = write_weights(data, {"resnet50-0676ba61.pth": models.resnet50})
    torch.save({}, folder / "backbone_v2.pth")
    # A list of networks that is asked for when a program's options are read.
    (folder.parent / "facebookresearch_xcit_main").mkdir(exist_ok=True)
    (folder.parent / "facebookresearch_xcit_main/hubconf.py").touch()
    root = sources / "HobbitLong+RepDistiller"
    sys.path.insert(0, str(root))
    from models import model_dict

    teacher = root / "save/models/resnet32x4_vanilla"
    teacher.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model_dict["resnet32x4"](num_classes=100).state_dict()}, teacher / "ckpt_epoch_240.pth")


@maker
def things(sources: Path, data: Path) -> None:
    """Photographs with boxes, as COCO has them; people by who they are; pictures by class."""
    chance = random.Random(0)
    kinds = [{"id": at, "name": f"kind{at}"} for at in range(1, 91)]
    (data / "coco/annotations").mkdir(parents=True, exist_ok=True)
    for split, many in (("train", 80), ("val", 8)):
        pictures, notes = [], []
        for at in range(many):
            wide, high = chance.choice(((640, 480), (480, 640), (640, 427)))
            picture(data / f"coco/{split}2017/{at:012d}.jpg", wide, high, at)
            pictures.append({"id": at, "file_name": f"{at:012d}.jpg", "width": wide, "height": high})
            for _ in range(chance.randint(1, 12)):
                w, h = chance.randint(30, 250), chance.randint(30, 250)
                box = [chance.randint(0, wide - w), chance.randint(0, high - h), w, h]
                note = {"image_id": at, "bbox": box, "area": w * h, "category_id": chance.randint(1, 90), "iscrowd": 0}
                notes.append({"id": len(notes) + 1, "segmentation": [], **note})
        kept = {"images": pictures, "annotations": notes, "categories": kinds}
        (data / f"coco/annotations/instances_{split}2017.json").write_text(json.dumps(kept))
    for at in range(1200):
        picture(data / f"reid/train/{at % 150:04d}/{at}.jpg", 64, 128, at)
    (sources / "layumi+Person_reID_baseline_pytorch/model").mkdir(exist_ok=True)
    for at in range(300):
        picture(data / f"reid/val/{at % 150:04d}/{at}.jpg", 64, 128, at)
    for at in range(320):
        picture(data / f"pictures/n{at % 10:08d}/{at}.jpg", 500, 375, at)


@maker
def streets(sources: Path, data: Path) -> None:
    """Streets with the class of every point, under every name that Cityscapes' lists have; people with their joints."""
    import numpy
    import torch
    from PIL import Image

    root, chance = sources / "CoinCheung+BiSeNet/datasets/cityscapes", numpy.random.default_rng(0)
    drawn = data / "bisenet"
    for at in range(16):
        picture(drawn / f"{at}.png", 2048, 1024, at)
        coarse = chance.integers(0, 19, (32, 64), dtype=numpy.uint8)
        Image.fromarray(coarse).resize((2048, 1024), Image.Resampling.NEAREST).save(drawn / f"{at}_classes.png")
    for split in ("train", "val"):
        for at, line in enumerate((root / f"{split}.txt").read_text().split()):
            for name, kind in zip(line.split(","), ("", "_classes")):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                if not (root / name).exists():
                    (root / name).symlink_to(drawn / f"{at % 16}{kind}.png")
    stated = (sources / "CoinCheung+BiSeNet/configs/bisenetv2_city.py").read_text()
    # Cityscapes' own table of classes has a -1 that no longer fits into a byte; these are somebody's own pictures.
    stated = stated.replace("'CityScapes'", "'CustomerDataset'")
    (drawn / "config.py").write_text(stated)
    for old, new in (("[512, 1024]", "[64, 128]"), ("ims_per_gpu=8", "ims_per_gpu=2"), ("sync_bn=True", "sync_bn=False")):
        stated = stated.replace(old, new)
    (drawn / "trial.py").write_text(stated)
    folder, some, labels = data / "poses", random.Random(0), []
    for at in range(240):
        name = f"{at % 60}.jpg"
        if at < 60:
            picture(folder / f"images/{name}", 640, 480, at)
        people = []
        for _ in range(some.randint(1, 4)):
            x, y = some.randint(100, 500), some.randint(100, 380)
            joints = [[x + some.randint(-60, 60), y + some.randint(-90, 90), some.choice((0, 1, 1, 2))] for _ in range(17)]
            box = [x - 60, y - 90, 120, 180]
            man = {"objpos": [x, y], "bbox": box, "segment_area": 21_600, "scale_provided": 180 / 368}
            people.append({**man, "num_keypoints": 17, "keypoints": joints})
        size = {"img_width": 640, "img_height": 480, "image_id": at, "img_paths": name, "segmentations": []}
        labels.append({**size, **people[0], "processed_other_annotations": people[1:]})
    (folder / "labels.pkl").write_bytes(pickle.dumps(labels))
    (folder / "val.json").write_text(json.dumps({"images": []}))
    torch.save({"state_dict": {}}, folder / "mobilenet.pth")


@maker
def slices(sources: Path, data: Path) -> None:
    """Slices through bodies with the organ of every point, and the Swin transformer's random weights."""
    import numpy
    import torch

    root, chance = sources / "HuCaoFighting+Swin-Unet", numpy.random.default_rng(0)
    (root / "pretrained_ckpt").mkdir(exist_ok=True)
    torch.save({"model": {}}, root / "pretrained_ckpt/swin_tiny_patch4_window7_224.pth")
    lists = root / "lists/Synapse"
    lists.mkdir(parents=True, exist_ok=True)
    names = [f"case{at:04d}_slice{at:03d}" for at in range(96)]
    folder = data / "synapse/train_npz"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        label = chance.integers(0, 9, (32, 32)).repeat(16, 0).repeat(16, 1).astype(numpy.float32)
        numpy.savez(folder / f"{name}.npz", image=chance.random((512, 512), dtype=numpy.float32), label=label)
    for split in ("train", "val"):
        (lists / f"{split}.txt").write_text("\n".join(names))


@maker
def voices(sources: Path, data: Path) -> None:
    """Sentences as sounds of speech with how long, how high and how loud they are; sounds with their spectra."""
    import numpy
    import torch

    chance, some = numpy.random.default_rng(0), random.Random(0)
    root = sources / "ming024+FastSpeech2"
    folder = root / "preprocessed_data/LJSpeech"
    for name in ("mel", "pitch", "energy", "duration"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    sounds, lines = ("HH", "AH0", "L", "OW1", "W", "ER1", "D", "sp", "S", "T", "IY1", "N"), []
    for at in range(320):
        many = some.randint(30, 110)
        lasts = chance.integers(2, 12, many)
        stated = {"mel": chance.standard_normal((int(lasts.sum()), 80)), "pitch": chance.standard_normal(many)}
        for name, values in {**stated, "energy": chance.standard_normal(many), "duration": lasts}.items():
            kept = values if name == "duration" else values.astype(numpy.float32)
            numpy.save(folder / f"{name}/LJSpeech-{name}-LJ{at:03d}.npy", kept)
        lines.append(f"LJ{at:03d}|LJSpeech|{{{' '.join(some.choices(sounds, k=many))}}}|{words(at, many // 4)}")
    (folder / "train.txt").write_text("\n".join(lines))
    (folder / "val.txt").write_text("\n".join(lines[:32]))
    (folder / "speakers.json").write_text('{"LJSpeech": 0}')
    spread = {"pitch": [-3.0, 3.0, 0.0, 1.0], "energy": [-3.0, 3.0, 0.0, 1.0]}
    (folder / "stats.json").write_text(json.dumps(spread))
    sys.path.insert(0, str(root))
    import hifigan

    sys.path.remove(str(root))
    torch.manual_seed(0)
    stated = hifigan.AttrDict(json.loads((root / "hifigan/config.json").read_text()))
    torch.save({"generator": hifigan.Generator(stated).state_dict()}, root / "hifigan/generator_LJSpeech.pth.tar")
    made = data / "melgan"
    for split, many in (("train", 160), ("val", 4)):
        (made / split).mkdir(parents=True, exist_ok=True)
        for at in range(many):
            with wave.open(str(made / f"{split}/{at}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(22_050)
                file.writeframes(chance.integers(-8000, 8000, 128 * 256).astype(numpy.int16).tobytes())
            torch.save(torch.from_numpy(chance.standard_normal((1, 80, 128)).astype(numpy.float32)), made / f"{split}/{at}.mel")
    # Its checkpoints are named by the commit, and there is no repository.
    tool = data / "bin/git"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text("#!/bin/sh\necho 0000000\n")
    tool.chmod(0o755)
    config = (sources / "seungwonpark+melgan/config/default.yaml").read_text()
    config = config.replace("train: ''", f"train: '{made}/train'").replace("validation: ''", f"validation: '{made}/val'")
    (made / "config.yaml").write_text(config.replace("num_workers: 32", "num_workers: 4"))
    vocoder(sources / "seungwonpark+melgan", made)


def vocoder(root: Path, made: Path) -> None:
    """MelGAN after its first epoch: a beginning one is validated and drawn, with a call that NumPy no longer has."""
    import torch

    sys.path.insert(0, str(root))
    from model.generator import Generator
    from model.multiscale import MultiScaleDiscriminator

    states: dict[str, Any] = {"step": 10, "epoch": 0, "hp_str": (made / "config.yaml").read_text(), "githash": "0000000"}
    for end, network in (("g", Generator(80)), ("d", MultiScaleDiscriminator())):
        optimizer = torch.optim.Adam(network.parameters(), lr=0.0001, betas=(0.5, 0.9))
        for parameter in network.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        states.update({f"model_{end}": network.state_dict(), f"optim_{end}": optimizer.state_dict()})
    torch.save(states, made / "first.pt")


@maker
def graphs(sources: Path, data: Path) -> None:
    """Proteins that act on each other; proteins as chains of places; roads with how fast one drives on them."""
    import numpy
    import torch

    chance, some = numpy.random.default_rng(0), random.Random(0)
    folder = sources / "gordicaleksa+pytorch-GAT/data/ppi"
    folder.mkdir(parents=True, exist_ok=True)
    (sources / "gordicaleksa+pytorch-GAT/models/binaries").mkdir(parents=True, exist_ok=True)
    (sources / "gordicaleksa+pytorch-GAT/models/checkpoints").mkdir(parents=True, exist_ok=True)
    first = 1
    for split, many in (("train", 6), ("valid", 2), ("test", 2)):
        nodes, links, which = [], [], []
        for at in range(many):
            begin, size = len(which), some.randint(1200, 1800)
            which += [first + at] * size
            nodes += [{"id": begin + one} for one in range(size)]
            ends = chance.integers(begin, begin + size, (2, 9 * size))
            links += [{"source": int(a), "target": int(b)} for a, b in ends.T]
            links += [{"source": begin + one, "target": begin + one} for one in range(size)]
        first += many
        graph = {"directed": False, "multigraph": False, "graph": {}, "nodes": nodes, "links": links, "edges": links}
        (folder / f"{split}_graph.json").write_text(json.dumps(graph))
        numpy.save(folder / f"{split}_graph_id.npy", numpy.array(which))
        numpy.save(folder / f"{split}_feats.npy", chance.standard_normal((len(which), 50)))
        numpy.save(folder / f"{split}_labels.npy", chance.integers(0, 2, (len(which), 121)))
    proteins, rows = data / "proteins", []
    for at in range(360):
        name, length = f"{at // 100}a{at % 100:02d}", some.randint(120, 420)
        place = proteins / f"pdb/{name[1:3]}"
        place.mkdir(parents=True, exist_ok=True)
        torch.save({"asmb_ids": [], "asmb_chains": [], "chains": ["A"]}, place / f"{name}.pt")
        chain = "".join(some.choices("ACDEFGHIKLMNPQRSTVWY", k=length))
        steps = torch.from_numpy(chance.standard_normal((length, 1, 3)).astype(numpy.float32)).cumsum(0) * 2
        around = torch.from_numpy(chance.standard_normal((length, 14, 3)).astype(numpy.float32))
        torch.save({"seq": chain, "xyz": steps + around}, place / f"{name}_A.pt")
        rows.append(f"{name}_A,2020-01-01,2.0,{at:06d},{at}")
    (proteins / "list.csv").write_text("\n".join(["CHAINID,DEPOSITION,RESOLUTION,HASH,CLUSTER", *rows]) + "\n")
    (proteins / "valid_clusters.txt").write_text("\n".join(str(at) for at in range(300, 330)))
    (proteins / "test_clusters.txt").write_text("\n".join(str(at) for at in range(330, 360)))
    roads = sources / "nnzhan+MTGNN/data"
    (roads / "METR-LA").mkdir(parents=True, exist_ok=True)
    (roads / "sensor_graph").mkdir(parents=True, exist_ok=True)
    (roads.parent / "save").mkdir(exist_ok=True)
    for split, many in (("train", 640), ("val", 192), ("test", 192)):
        drawn = chance.random((2, many, 12, 207, 2)) * 60
        numpy.savez(roads / f"METR-LA/{split}.npz", x=drawn[0], y=drawn[1])
    near = (chance.random((207, 207)) * (chance.random((207, 207)) < 0.05) + numpy.eye(207)).astype(numpy.float32)
    ids = [str(at) for at in range(207)]
    (roads / "sensor_graph/adj_mx.pkl").write_bytes(pickle.dumps((ids, {one: at for at, one in enumerate(ids)}, near)))


@maker
def tables(sources: Path, data: Path) -> None:
    """How much power is used; what a machine's sensors say; what was looked at and bought; air around wings."""
    import numpy

    chance = numpy.random.default_rng(0)
    power = sources / "ikostrikov+pytorch-flows/data/power"
    power.mkdir(parents=True, exist_ok=True)
    numpy.save(power / "data.npy", chance.random((1_000_000, 8)))
    machines = data / "smd"
    machines.mkdir(parents=True, exist_ok=True)
    for name in ("train", "test"):
        numpy.save(machines / f"SMD_{name}.npy", chance.random((60_000, 38)))
    numpy.save(machines / "SMD_test_label.npy", (chance.random(60_000) < 0.04).astype(float))
    shop = data / "aliexpress/AliExpress_NL"
    shop.mkdir(parents=True, exist_ok=True)
    names = ["at", *(f"categorical{at}" for at in range(16)), *(f"numerical{at}" for at in range(63)), "click", "buy"]
    sizes = [20_000, 50_000, 10_000, 5000, 2000, 1000, 500, 300, 200, 100, 80, 60, 40, 20, 10, 5]
    for split, many in (("train", 20_480), ("test", 4096)):
        whole = numpy.stack([numpy.arange(many), *(chance.integers(0, size, many) for size in sizes)], 1)
        parts = [whole, chance.random((many, 63)), chance.random((many, 2)) < 0.2]
        numpy.savetxt(shop / f"{split}.csv", numpy.concatenate(parts, 1), "%.5g", ",", header=",".join(names), comments="")
    wings = data / "airfoil"
    wings.mkdir(parents=True, exist_ok=True)
    for name in ("X", "Y"):
        numpy.save(wings / f"NACA_Cylinder_{name}.npy", chance.random((1200, 221, 51), dtype=numpy.float32))
    numpy.save(wings / "NACA_Cylinder_Q.npy", chance.random((1200, 5, 221, 51), dtype=numpy.float32))


@maker
def faces(sources: Path, data: Path) -> None:
    """Faces, small and large; pictures at two sizes; words in pictures."""
    for at in range(48):
        picture(sources / f"explainingai-code+StableDiffusion-PyTorch/data/CelebAMask-HQ/CelebA-HQ-img/{at}.jpg", 1024, 1024, at)
    stated = (sources / "explainingai-code+StableDiffusion-PyTorch/config/celebhq.yaml").read_text()
    for old, new in (("[ 256, 384, 512, 768 ]", "[ 32, 32, 32, 32 ]"), ("[ 768, 512 ]", "[ 32, 32 ]"), ("ldm_batch_size: 16", "ldm_batch_size: 1")):
        stated = stated.replace(old, new)
    (data / "latent").mkdir(parents=True, exist_ok=True)
    (data / "latent/trial.yaml").write_text(stated)
    small = data / "sr3"
    for at in range(64):
        picture(small / f"pictures/hr_128/{at:05d}.png", 128, 128, at)
        picture(small / f"pictures/sr_16_128/{at:05d}.png", 128, 128, at)
        picture(small / f"pictures/lr_16/{at:05d}.png", 16, 16, at)
    config = (sources / "Janspiry+Image-Super-Resolution-via-Iterative-Refinement/config/sr_sr3_16_128.json").read_text()
    for old in ("dataset/ffhq_16_128", "dataset/celebahq_16_128"):
        config = config.replace(old, str(small / "pictures"))
    config = config.replace('"datatype": "lmdb"', '"datatype": "img"').replace('"batch_size": 4', '"batch_size": 8')
    (small / "config.json").write_text(config)
    config = config.replace('"inner_channel": 64', '"inner_channel": 32').replace('"batch_size": 8', '"batch_size": 1')
    (small / "trial.json").write_text(config)
    from PIL import Image

    some = random.Random(0)
    for place in ("training/MJ", "training/ST", "validation/IIIT"):
        kept: dict[bytes, bytes] = {b"num-samples": b"400"}
        for at in range(1, 401):
            drawn = io.BytesIO()
            Image.frombytes("L", (20, 8), some.randbytes(160)).resize((some.randint(60, 200), 32)).convert("RGB").save(drawn, "JPEG")
            kept[b"image-%09d" % at] = drawn.getvalue()
            kept[b"label-%09d" % at] = "".join(some.choices("abcdefghijklmnop0123456789", k=some.randint(3, 14))).encode()
        (data / "ocr" / place).mkdir(parents=True, exist_ok=True)
        (data / "ocr" / place / "all.pkl").write_bytes(pickle.dumps(kept))
    (sources / "clovaai+deep-text-recognition-benchmark/saved_models/made").mkdir(parents=True, exist_ok=True)


@maker
def texts(sources: Path, data: Path) -> None:
    """Letters; GPT-2 with random weights; pairs of programs and what they do, with a T5 of random weights."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    letters, some = data / "letters", random.Random(0)
    letters.mkdir(parents=True, exist_ok=True)
    for split, many in (("train", 600_000), ("valid", 200_000), ("test", 70_000)):
        (letters / f"{split}.txt").write_text(" ".join(some.choices([str(at) for at in range(32, 230)], k=many)) + "\n")
    root = sources / "graykode+gpt-2-Pytorch"
    (root / "GPT2/vocab.bpe").write_text("#version: 0.2\n\n")
    sys.path.insert(0, str(root))
    from GPT2.config import GPT2Config
    from GPT2.model import GPT2LMHeadModel

    torch.manual_seed(0)
    torch.save(GPT2LMHeadModel(GPT2Config()).state_dict(), root / "gpt2-pytorch_model.bin")
    folder = data / "codet5p"
    tokenizer(folder / "model")
    stated: dict[str, Any] = {"vocab_size": 32_100, "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
    T5ForConditionalGeneration(T5Config(**stated, decoder_start_token_id=0)).save_pretrained(folder / "model")
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    with open(folder / "rows/rows.jsonl", "w") as file:
        for _ in range(400):
            said, meant = some.randint(60, 320), some.randint(10, 100)
            row = {"input_ids": [some.randint(3, 32_000) for _ in range(said)] + [0] * (320 - said)}
            row["attention_mask"] = [1] * said + [0] * (320 - said)
            row["labels"] = [some.randint(3, 32_000) for _ in range(meant)] + [-100] * (128 - meant)
            file.write(json.dumps(row) + "\n")


@maker
def talks(sources: Path, data: Path) -> None:
    """A Pythia with random weights as LitGPT keeps it, its words, and what it is told."""
    sys.path[:0] = [str(sources / "Lightning-AI+litgpt"), str(sources.parent / "packages")]
    import torch
    import yaml
    from litgpt.config import Config
    from litgpt.model import GPT
    from litgpt.utils import save_config

    folder, some = data / "litgpt/model", random.Random(0)
    tokenizer(folder)
    config = Config.from_name("pythia-410m")
    torch.manual_seed(0)
    with torch.device("cpu"):
        model = GPT(config).to(torch.bfloat16)
    torch.save(model.state_dict(), folder / "lit_model.pth")
    save_config(config, folder)
    assert yaml.safe_load((folder / "model_config.yaml").read_text())
    said = [{"instruction": words(at, some.randint(10, 60)), "input": "", "output": words(at + 1, some.randint(20, 300))} for at in range(400)]
    (data / "litgpt/talks.json").write_text(json.dumps(said))


@maker
def shapes(sources: Path, data: Path) -> None:
    """Points on shapes by class; views of a scene."""
    import numpy

    root, chance = sources / "qq456cvb+Point-Transformers/modelnet40_normal_resampled", numpy.random.default_rng(0)
    kinds = [f"shape{at}" for at in range(40)]
    for kind in kinds:
        (root / kind).mkdir(parents=True, exist_ok=True)
    (root / "modelnet40_shape_names.txt").write_text("\n".join(kinds))
    for split, many in (("train", 128), ("test", 32)):
        names = [f"{kinds[at % 40]}_{split}{at:04d}" for at in range(many)]
        (root / f"modelnet40_{split}.txt").write_text("\n".join(names))
        for name in names:
            numpy.savetxt(root / name.split("_")[0] / f"{name}.txt", chance.random((1024, 6)), fmt="%.5f", delimiter=",")
    write_views(sources / "yenchenlin+nerf-pytorch/data/nerf_synthetic/lego", {"train": 20, "val": 8, "test": 8})
    (sources / "yenchenlin+nerf-pytorch/logs").mkdir(exist_ok=True)


if __name__ == "__main__":
    main()
