"""Puts the public scripts of the corpus and data for them into a folder outside the checkout.

    python corpus/fit/prepare.py FOLDER --mirror CLONES

Sources come out of bare clones (`--mirror`, one folder OWNER+NAME/repo each) at the commits that manifest.toml names.
Data are made here: random images, words and graphs of real sizes, and models with random weights. On another machine,
where there are no clones, the sources go along (`--only check_out` puts nothing else into FOLDER) and the data are made
there: without `--mirror` they are all that is made.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import subprocess
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORDS = [f"{first}{second}{third}" for first in "bdfgklmnprst" for second in "aeiou" for third in ("n", "r", "s", "l", "mi", "to", "ka")]


def check_out(mirror: Path, to: Path) -> None:
    """Writes the files of each repository that the clone has; large ones may be missing from it."""
    for name, repository in tomllib.loads((HERE / "manifest.toml").read_text())["repository"].items():
        git = ["git", f"--git-dir={mirror / name / 'repo'}"]
        if not (mirror / name / "repo").exists():
            print(f"{name}: no clone, its jobs are left out", flush=True)
            continue
        listed = subprocess.run([*git, "ls-tree", "-r", repository["commit"], *repository.get("folders", [])], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            _, kind, identity, path = line.split(maxsplit=3)
            target = to / name / path
            if kind != "blob" or target.exists() or not path.endswith((".py", ".txt", ".toml", ".yaml", ".json", ".jpg", ".md")):
                continue
            shown = subprocess.run([*git, "cat-file", "blob", identity], capture_output=True)
            if shown.returncode == 0:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(shown.stdout)


def write_text(to: Path) -> None:
    """Texts of made-up words, in the places where scripts look for them."""
    chance = random.Random(0)
    vocabulary = WORDS + [one + other for one in WORDS for other in chance.sample(WORDS, 24)]
    lines = [" ".join(chance.choices(vocabulary, k=40)) for _ in range(12_000)]
    text = "\n".join(lines)
    many = WORDS + [one + other for one in WORDS for other in chance.sample(WORDS, 79)]
    wikitext = "\n".join(" ".join(chance.choices(many, k=40)) for _ in range(12_000))
    examples = to / "pytorch+examples/word_language_model/data/wikitext-2"
    for path in (examples / f"{one}.txt" for one in ("train", "valid", "test")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wikitext)
    lightning = to / "data/cwd/data"
    lightning.mkdir(parents=True, exist_ok=True)
    (lightning / "wikitext-2.txt").write_text(wikitext)
    (to / "data/cwd/input.txt").write_text(f"O God, O God!\n{text}")
    (to / "pytorch+examples/vae/results").mkdir(parents=True, exist_ok=True)
    (to / "data/lines.txt").write_text("\n".join(lines[:3000]))
    (to / "data/vocabulary.txt").write_text("\n".join(vocabulary))


def write_mnist(to: Path) -> None:
    """Random digits in MNIST's own files, for torchvision and for Lightning's demo."""
    import torch

    for folder in ["pytorch+examples/data/MNIST", "pytorch+examples/mnist_forward_forward/data/MNIST", "data/FashionMNIST", "Lightning-AI+pytorch-lightning/Datasets/MNIST", "eriklindernoren+PyTorch-GAN/data/mnist/MNIST"]:
        raw = to / folder / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        for name, count in (("train", 60_000), ("t10k", 10_000)):
            pixels = torch.randint(0, 256, (count, 28, 28), dtype=torch.uint8)
            (raw / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + pixels.numpy().tobytes())
            labels = (torch.arange(count) % 10).to(torch.uint8)
            (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.numpy().tobytes())


def write_images(to: Path) -> None:
    """Folders of random photographs: by class, by file name, with boxes, with masks."""
    import numpy
    from PIL import Image

    chance = numpy.random.default_rng(0)
    for split in ("train", "val"):
        for label in range(10):
            folder = to / f"data/images/{split}/n{label:08d}"
            folder.mkdir(parents=True, exist_ok=True)
            for at in range(26):
                Image.fromarray(chance.integers(0, 255, (300, 300, 3), dtype=numpy.uint8)).save(folder / f"{at}.jpg")
    named = to / "data/named"
    named.mkdir(parents=True, exist_ok=True)
    for at in range(520):
        Image.fromarray(chance.integers(0, 255, (300, 300, 3), dtype=numpy.uint8)).save(named / f"{'abcdefgh'[at % 8]}_{at}.jpg")
    photographs, annotations, coco = [], [], to / "data/coco"
    for split in ("train2017", "val2017"):
        (coco / split).mkdir(parents=True, exist_ok=True)
    for at in range(64):
        for split in ("train2017", "val2017"):
            Image.fromarray(chance.integers(0, 255, (480, 640, 3), dtype=numpy.uint8)).save(coco / split / f"{at}.jpg")
        photographs.append({"id": at, "file_name": f"{at}.jpg", "height": 480, "width": 640})
        for box in range(6):
            x, y = 20 + 80 * box, 30 + 40 * box
            annotations.append({"id": at * 6 + box, "image_id": at, "category_id": 1 + box, "bbox": [x, y, 90, 120], "area": 10_800, "iscrowd": 0, "segmentation": [[x, y, x + 90, y, x + 90, y + 120, x, y + 120]]})
    (coco / "annotations").mkdir(exist_ok=True)
    for split in ("train2017", "val2017"):
        (coco / f"annotations/instances_{split}.json").write_text(json.dumps({"images": photographs, "annotations": annotations, "categories": [{"id": one, "name": str(one)} for one in range(1, 91)]}))
    for split in ("training", "testing"):
        for kind in ("image_2", "semantic"):
            folder = to / f"data/kitti/data_semantics/{split}/{kind}"
            folder.mkdir(parents=True, exist_ok=True)
            for at in range(100):
                shape = (376, 1242, 3) if kind == "image_2" else (376, 1242)
                Image.fromarray(chance.integers(0, 20, shape, dtype=numpy.uint8)).save(folder / f"{at:06d}.png")
    voc = to / "data/VOCdevkit/VOC2012"
    for folder in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        (voc / folder).mkdir(parents=True, exist_ok=True)
    for at in range(64):
        Image.fromarray(chance.integers(0, 255, (500, 500, 3), dtype=numpy.uint8)).save(voc / f"JPEGImages/{at}.jpg")
        Image.fromarray(chance.integers(0, 20, (500, 500), dtype=numpy.uint8)).save(voc / f"SegmentationClass/{at}.png")
    for split in ("train", "val"):
        (voc / f"ImageSets/Segmentation/{split}.txt").write_text("\n".join(str(at) for at in range(64)))
    bsds = to / "pytorch+examples/super_resolution/dataset/BSDS300/images"
    for split in ("train", "test"):
        (bsds / split).mkdir(parents=True, exist_ok=True)
        for at in range(200):
            Image.fromarray(chance.integers(0, 255, (321, 481, 3), dtype=numpy.uint8)).save(bsds / split / f"{at}.jpg")


def write_tables(to: Path) -> None:
    """Tables for the stand-in of the `datasets` library."""
    chance = random.Random(1)
    words = (to / "data/vocabulary.txt").read_text().split()

    def sentence(shortest: int, longest: int) -> str:
        return " ".join(chance.choices(words, k=chance.randint(shortest, longest)))

    count = 600
    pairs = {"idx": list(range(count)), "sentence1": [sentence(40, 60) for _ in range(count)], "sentence2": [sentence(40, 60) for _ in range(count)], "label": [at % 2 for at in range(count)]}
    orders = {"instruction": [sentence(90, 130) for _ in range(count)], "input": [""] * count, "output": [sentence(90, 130) for _ in range(count)]}
    photographs = sorted(str(path) for path in (to / "data/images/train").rglob("*.jpg"))
    pictures = {"image": photographs, "label": [at % 10 for at in range(len(photographs))]}
    captions = {"image_path": photographs, "caption": [sentence(8, 12) for _ in photographs]}
    sounds = {"audio": [32_000 + 160 * (at % 20) for at in range(200)], "label": [at % 10 for at in range(200)]}
    translations = {"translation": [{"en": sentence(90, 120), "ro": sentence(90, 120)} for _ in range(count)]}
    names = [str(one) for one in range(10)]
    tables = {
        "glue": (pairs, {"label": ["not_equivalent", "equivalent"]}),
        "alpaca-cleaned": (orders, {}),
        "texts": ({"text": orders["output"]}, {}),
        "pictures": (pictures, {"image": "image", "label": names}),
        "captions": (captions, {}),
        "sounds": (sounds, {"audio": "audio", "label": names}),
        "wmt16": (translations, {}),
    }
    (to / "data/tables").mkdir(parents=True, exist_ok=True)
    for name, (columns, kinds) in tables.items():
        splits = {split: columns for split in ("train", "validation", "test")}
        (to / f"data/tables/{name}.json").write_text(json.dumps({"splits": splits, "kinds": kinds}))


def write_tokens(to: Path) -> None:
    """nanoGPT's files of token numbers, and a graph in PyTorch Geometric's own file."""
    import numpy
    import torch

    for split in ("train", "val"):
        path = to / f"karpathy+nanoGPT/data/openwebtext/{split}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        numpy.random.default_rng(0).integers(0, 50_000, 400_000).astype(numpy.uint16).tofile(path)
    from torch_geometric.data import Data, InMemoryDataset

    for name, nodes, edges, features in (("Cora", 270_800, 1_055_600, 1433),):
        marks = torch.arange(nodes)
        graph = Data(x=torch.zeros(nodes, features // 4), edge_index=torch.randint(0, nodes, (2, edges)), y=marks % 7, train_mask=marks < nodes // 2, val_mask=marks % 7 == 0, test_mask=marks % 5 == 0)
        folder = to / f"pyg-team+pytorch_geometric/data/Planetoid/{name}"
        (folder / "processed").mkdir(parents=True, exist_ok=True)
        (folder / "raw").mkdir(exist_ok=True)
        for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"):
            (folder / f"raw/ind.{name.lower()}.{part}").touch()
        InMemoryDataset.save([graph], str(folder / "processed/data.pt"))


def write_models(to: Path) -> None:
    """Models with random weights and tokenizers of made-up words, as local folders."""
    import torch
    import transformers as tr
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = (to / "data/vocabulary.txt").read_text().split()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "</s>"]
    core = Tokenizer(models.WordLevel({word: at for at, word in enumerate([*special, *words])}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()

    def tokenizer(longest: int) -> tr.PreTrainedTokenizerFast:
        return tr.PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", eos_token="</s>", bos_token="[CLS]", model_max_length=longest)

    text = {"vocab_size": 30_522}
    vision = {"image_size": 224, "patch_size": 16}
    made = {
        "gpt2": (tr.GPT2LMHeadModel, tr.GPT2Config(n_layer=6, bos_token_id=2, eos_token_id=5), 1024),
        "bert-base-cased": (tr.BertForMaskedLM, tr.BertConfig(**text, num_hidden_layers=8), 512),
        "llama": (tr.LlamaForCausalLM, tr.LlamaConfig(vocab_size=32_000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=16, bos_token_id=2, eos_token_id=5, pad_token_id=0), 2048),
        "t5": (tr.T5ForConditionalGeneration, tr.T5Config(vocab_size=32_128, d_model=512, num_layers=6, decoder_start_token_id=0), 512),
        "vit": (tr.ViTForImageClassification, tr.ViTConfig(**vision, num_hidden_layers=8, num_labels=10), 0),
        "vitmim": (tr.ViTForMaskedImageModeling, tr.ViTConfig(**vision, num_hidden_layers=8, encoder_stride=16), 0),
        "wav2vec2": (tr.Wav2Vec2ForSequenceClassification, tr.Wav2Vec2Config(num_hidden_layers=6, num_labels=10), 0),
        "clip": (tr.CLIPModel, tr.CLIPConfig(text_config=dict(**text, num_hidden_layers=4, eos_token_id=5, bos_token_id=2, pad_token_id=0), vision_config=dict(image_size=224, patch_size=32, num_hidden_layers=6)), 77),
    }
    for name, (kind, config, longest) in made.items():
        folder = to / "data/cwd" / name
        torch.manual_seed(0)
        kind(config).save_pretrained(folder)
        if longest:
            tokenizer(longest).save_pretrained(folder)
        if name in ("vit", "vitmim"):
            tr.ViTImageProcessor(size={"height": 224, "width": 224}).save_pretrained(folder)
        if name == "clip":
            tr.CLIPImageProcessor().save_pretrained(folder)
        if name == "wav2vec2":
            tr.Wav2Vec2FeatureExtractor(return_attention_mask=False).save_pretrained(folder)
    from torchvision.models import vgg16

    checkpoints = to / "data/torch_home/hub/checkpoints"
    checkpoints.mkdir(parents=True, exist_ok=True)
    torch.save(vgg16().state_dict(), checkpoints / "vgg16-397923af.pth")


def main() -> None:
    """Everything, in order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", type=Path)
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--only", nargs="*", default=["check_out", "text", "mnist", "images", "tables", "tokens", "models"])
    given = parser.parse_args()
    for step in given.only:
        if step == "check_out" and given.mirror is None:
            continue
        print(step, flush=True)
        if step == "check_out":
            check_out(given.mirror, given.to)
        else:
            globals()[f"write_{step}"](given.to)


if __name__ == "__main__":
    main()
