"""Makes the data of the third set's programs: random pictures, sounds, points, tables and weights, shaped as the real ones.

    python third/data.py FOLDER [NAME ...]
"""

from __future__ import annotations

import json
import random
import sys
import wave
from argparse import Namespace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from making import main, maker, picture, words, write_cifar, write_mnist, write_views, write_weights  # noqa: E402


@maker
def small_pictures(sources: Path, data: Path) -> None:
    """CIFAR and digits in the places where programs look for them."""
    import numpy

    places = ["davidmrau+mixture-of-experts/data", "baofff+U-ViT/assets/datasets/cifar10", "../data/biggan/cifar"]
    write_cifar(sources, data, places)
    for place in ("ashleve+lightning-hydra-template/data", "Blealtan+efficient-kan/examples/data"):
        write_mnist(sources / place / "MNIST/raw")
    (sources / "ashleve+lightning-hydra-template/.project-root").touch()
    stats = sources / "baofff+U-ViT/assets/fid_stats"
    stats.mkdir(parents=True, exist_ok=True)
    numpy.savez(stats / "fid_stats_cifar10_train_pytorch.npz", mu=numpy.zeros(2048), sigma=numpy.zeros((1, 1)))
    moments = sources / "ajbrock+BigGAN-PyTorch/C10_inception_moments.npz"
    numpy.savez(moments, mu=numpy.zeros(2048), sigma=numpy.eye(2048, dtype=numpy.float32))


@maker
def photographs(sources: Path, data: Path) -> None:
    """Photographs with boxes and with classes of every point, as VOC has them."""
    import numpy
    from PIL import Image

    root, chance = data / "voc/VOCdevkit/VOC2012", random.Random(0)
    for folder in ("Annotations", "SegmentationClass", "ImageSets/Main", "ImageSets/Segmentation"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    kinds = ("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow")
    for at in range(96):
        picture(root / f"JPEGImages/{at:06d}.jpg", 500, 375, at)
        objects, mask = [], numpy.zeros((375, 500), dtype=numpy.uint8)
        for _ in range(chance.randint(1, 5)):
            x, y, kind = chance.randint(1, 300), chance.randint(1, 220), chance.randrange(10)
            right, below = x + chance.randint(60, 190), y + chance.randint(50, 150)
            mask[y:below, x:right] = kind + 1
            corners = f"<xmin>{x}</xmin><ymin>{y}</ymin><xmax>{right}</xmax><ymax>{below}</ymax>"
            inside = f"<name>{kinds[kind]}</name><difficult>0</difficult><bndbox>{corners}</bndbox>"
            objects.append(f"<object>{inside}</object>")
        (root / f"Annotations/{at:06d}.xml").write_text(f"<annotation>{''.join(objects)}</annotation>")
        Image.fromarray(mask).save(root / f"SegmentationClass/{at:06d}.png")
    for folder in ("Main", "Segmentation"):
        parts = {"train": range(80), "trainval": range(80), "val": range(80, 96), "test": range(80, 96)}
        for split, numbers in parts.items():
            (root / f"ImageSets/{folder}/{split}.txt").write_text("\n".join(f"{at:06d}" for at in numbers))


@maker
def more_photographs(sources: Path, data: Path) -> None:
    """People by who they are, contents and styles, things to be grasped."""
    import numpy
    from PIL import Image

    for at in range(3000):
        picture(data / f"market/{at % 100:04d}/{at}.jpg", 64, 128, at)
    for at in range(48):
        picture(data / f"adain/content/{at}.jpg", 640, 480, at)
        picture(data / f"adain/style/{at}.jpg", 600, 600, at + 100)
    chance, corners = numpy.random.default_rng(0), "253 320.7\n309 324\n307 350\n251 346.7\n"
    (data / "cornell/01").mkdir(parents=True, exist_ok=True)
    for at in range(160):
        name = data / f"cornell/01/pcd{at:04d}"
        Image.fromarray(chance.random((480, 640), dtype=numpy.float32)).save(f"{name}d.tiff")
        Path(f"{name}cpos.txt").write_text(corners * 3)


@maker
def weights(sources: Path, data: Path) -> None:
    """Random weights where torchvision looks for those it would download."""
    from torchvision import models

    write_weights(
        data,
        {
            "vgg16-397923af.pth": models.vgg16,
            "mobilenet_v2-b0353104.pth": models.mobilenet_v2,
            "inception_v3_google-0cc3c7bd.pth": lambda: models.inception_v3(weights=None, init_weights=False),
        },
    )


@maker
def style_network(sources: Path, data: Path) -> None:
    """Random weights of the network that AdaIN compares styles with."""
    import torch

    sys.path.insert(0, str(sources / "naoto0804+pytorch-AdaIN"))
    import net

    (data / "adain").mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.save(net.vgg.state_dict(), data / "adain/vgg_normalised.pth")


@maker
def latents(sources: Path, data: Path) -> None:
    """Pictures as MAR's autoencoder has encoded them, and its random weights."""
    import numpy
    import torch

    sys.path.insert(0, str(sources / "LTH14+mar"))
    from models.vae import AutoencoderKL

    (data / "mar").mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.save({"model": AutoencoderKL(embed_dim=16, ch_mult=(1, 1, 2, 2, 4)).state_dict()}, data / "mar/kl16.ckpt")
    chance = numpy.random.default_rng(0)
    for at in range(192):
        path = data / f"mar/cached/n{at % 8:08d}/{at}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn = chance.standard_normal((32, 16, 16)).astype(numpy.float32)
        numpy.savez(path, moments=drawn, moments_flip=drawn[..., ::-1])


@maker
def sounds(sources: Path, data: Path) -> None:
    """Two seconds each, with their spectra; a vocoder's training after five steps; mixtures of two voices."""
    import numpy
    import torch

    chance, folder = numpy.random.default_rng(0), data / "diffwave/wavs"
    folder.mkdir(parents=True, exist_ok=True)
    for at in range(128):
        with wave.open(str(folder / f"{at}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(22_050)
            file.writeframes(chance.integers(-8000, 8000, 172 * 256).astype(numpy.int16).tobytes())
        numpy.save(folder / f"{at}.wav.spec.npy", chance.random((80, 172)).astype(numpy.float32))
    sys.path[:0] = [str(sources / "lmnt-com+diffwave/src"), str(HERE / "standins")]
    from diffwave.model import DiffWave
    from diffwave.params import params

    torch.manual_seed(0)
    model = DiffWave(params)
    optimizer = torch.optim.Adam(model.parameters(), lr=params.learning_rate)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    scale = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 5}
    (data / "diffwave/model").mkdir(parents=True, exist_ok=True)
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scale}
    torch.save({"step": 5, **states, "params": dict(params)}, data / "diffwave/model/weights.pt")
    for split, many in (("tr", 240), ("cv", 8)):
        (data / f"tasnet/{split}").mkdir(parents=True, exist_ok=True)
        for name in ("mix", "s1", "s2"):
            listed = [[f"{name}/{at}.wav", 16_000] for at in range(many)]
            (data / f"tasnet/{split}/{name}.json").write_text(json.dumps(listed))


@maker
def visits(sources: Path, data: Path) -> None:
    """Where users have been, and a folder for those who learn by trying."""
    import numpy

    (data / "curl").mkdir(exist_ok=True)
    chance, folder = random.Random(0), sources / "gusye1234+LightGCN-PyTorch/data/gowalla"
    folder.mkdir(parents=True, exist_ok=True)
    (sources / "gusye1234+LightGCN-PyTorch/code/checkpoints").mkdir(parents=True, exist_ok=True)
    pairs: dict[str, list[tuple[int, int]]] = {}
    for split, most in (("train", 60), ("test", 15)):
        seen = [(user, sorted(chance.sample(range(12_000), chance.randint(5, most)))) for user in range(5990)]
        (folder / f"{split}.txt").write_text("".join(f"{user} {' '.join(map(str, items))}\n" for user, items in seen))
        pairs[split] = [(user, item) for user, items in seen for item in items]
    # The graph of users and places, where the program would leave it for its next run.
    sys.path.insert(0, str(HERE / "science"))
    from scipy.sparse import csr_matrix, save_npz

    users, items = numpy.array(pairs["train"]).T
    count = 5990 + int(max(item for both in pairs.values() for _, item in both)) + 1
    ends = numpy.concatenate([users, items + 5990]), numpy.concatenate([items + 5990, users])
    degrees = numpy.maximum(numpy.bincount(ends[0], minlength=count), 1)
    weight = 1 / numpy.sqrt(degrees[ends[0]] * degrees[ends[1]])
    save_npz(folder / "s_pre_adj_mat.npz", csr_matrix((weight.astype(numpy.float32), ends), (count, count)))


@maker
def texts(sources: Path, data: Path) -> None:
    """Token numbers and questions with four answers; letters; sentences in two languages and a model that translates."""
    import numpy
    import torch

    sys.path.insert(0, str(sources.parent / "packages"))
    import dill

    chance, root = numpy.random.default_rng(0), sources / "karpathy+build-nanogpt"
    for folder in ("edu_fineweb10B", "hellaswag"):
        (root / folder).mkdir(exist_ok=True)
    for name, many in (("train_000001", 2_000_000), ("val_000000", 1_500_000)):
        numpy.save(root / f"edu_fineweb10B/edufineweb_{name}.npy", chance.integers(0, 50_257, many).astype(numpy.uint16))
    questions = []
    for at in range(12):
        endings = [words(4 * at + one, 5 + one) for one in range(4)]
        questions.append({"ctx": words(at, 20 + at), "label": at % 4, "endings": endings})
    (root / "hellaswag/hellaswag_val.jsonl").write_text("\n".join(map(json.dumps, questions)))
    letters = data / "llm_baselines/shakespeare"
    letters.mkdir(parents=True, exist_ok=True)
    (letters / "raw.txt").write_text(words(0, 400_000))
    for name, many in (("train", 1_200_000), ("test", 300_000)):
        (letters / f"{name}.npy").write_bytes(chance.integers(0, 96, many).astype(numpy.uint16).tobytes())

    sys.path[:0] = [str(HERE / "standins"), str(sources / "jadore801120+attention-is-all-you-need-pytorch")]
    from torchtext.data import Example, Field
    from transformer.Models import Transformer

    known = sorted({word for at in range(40) for word in words(at, 400).split()})
    marks = ["<unk>", "<blank>", "<s>", "</s>"]
    field = Field([*marks, *known, *(f"word{at}" for at in range(9500 - len(known)))], "<blank>", "<s>", "</s>", "<unk>")
    drawn = random.Random(0)
    sentences = [words(at, drawn.randint(8, 40)).split() for at in range(6000)]
    pairs = [Example(*both) for both in zip(sentences[::2], sentences[1::2])]
    folder = data / "translation"
    folder.mkdir(parents=True, exist_ok=True)
    splits = {"train": pairs[:2800], "valid": pairs[2800:2990], "test": pairs[2990:2995]}
    kept = {"settings": Namespace(max_len=100), "vocab": {"src": field, "trg": field}, **splits}
    (folder / "data.pkl").write_bytes(dill.dumps(kept))
    size = len(field.vocab)
    settings = Namespace(
        src_vocab_size=size, trg_vocab_size=size, src_pad_idx=1, trg_pad_idx=1,
        proj_share_weight=True, embs_share_weight=True, d_k=64, d_v=64, d_model=512, d_word_vec=512, d_inner_hid=2048,
        n_layers=6, n_head=8, dropout=0.1,
    )  # fmt: skip
    torch.manual_seed(0)
    model = Transformer(size, size, 1, 1, emb_src_trg_weight_sharing=True, trg_emb_prj_weight_sharing=True)
    torch.save({"epoch": 0, "settings": settings, "model": model.state_dict()}, folder / "trained.chkpt")


@maker
def questions(sources: Path, data: Path) -> None:
    """A small language model with random weights, its words, and questions by kind."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForSequenceClassification

    folder = data / "lora_math/model"
    folder.mkdir(parents=True, exist_ok=True)
    known = ["<pad>", "<unk>", *sorted({word for at in range(40) for word in words(at, 400).split()})]
    letters = Tokenizer(models.WordLevel({word: at for at, word in enumerate(known)}, unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=letters, pad_token="<pad>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(0)
    shape = Qwen3Config(
        vocab_size=4096, hidden_size=1024, intermediate_size=3072, num_hidden_layers=8, num_attention_heads=8,
        num_key_value_heads=4, head_dim=128, num_labels=8, pad_token_id=0,
    )  # fmt: skip
    Qwen3ForSequenceClassification(shape).save_pretrained(folder)
    chance = random.Random(0)
    rows = [f"{words(at, chance.randint(20, 200))},{at % 8}" for at in range(400)]
    (data / "lora_math/train.csv").write_text("\n".join(["Question,label", *rows]) + "\n")


@maker
def shapes(sources: Path, data: Path) -> None:
    """Points on shapes, by class and with distances; views of a scene."""
    import numpy

    chance = numpy.random.default_rng(0)
    root = sources / "DylanWusee+pointconv_pytorch/data/modelnet40_normal_resampled"
    kinds = [f"shape{at}" for at in range(40)]
    for kind in kinds:
        (root / kind).mkdir(parents=True, exist_ok=True)
    (root / "modelnet40_shape_names.txt").write_text("\n".join(kinds))
    for split, many in (("train", 128), ("test", 32)):
        names = [f"{kinds[at % 40]}_{split}{at:04d}" for at in range(many)]
        (root / f"modelnet40_{split}.txt").write_text("\n".join(names))
        for name in names:
            numpy.savetxt(root / name.split("_")[0] / f"{name}.txt", chance.random((1024, 6)), fmt="%.5f", delimiter=",")
    clouds = sources / "WangYueFt+dcp/data/modelnet40_ply_hdf5_2048"
    for split, many in (("train0", 256), ("test0", 32)):
        parts = clouds / f"ply_data_{split}.h5.parts"
        parts.mkdir(parents=True, exist_ok=True)
        (clouds / f"ply_data_{split}.h5").touch()
        numpy.save(parts / "data.npy", chance.random((many, 2048, 3)).astype(numpy.float32))
        numpy.save(parts / "label.npy", numpy.arange(many)[:, None] % 40)
    chairs = data / "deepsdf/chairs"
    chairs.mkdir(parents=True, exist_ok=True)
    samples = data / "deepsdf/data/SdfSamples/made/chairs"
    samples.mkdir(parents=True, exist_ok=True)
    names = [f"chair{at}" for at in range(64)]
    for name in names:
        points = (chance.random((2, 12_000, 4)) * 2 - 1).astype(numpy.float32)
        numpy.savez(samples / f"{name}.npz", pos=points[0], neg=points[1])
    (data / "deepsdf/split.json").write_text(json.dumps({"made": {"chairs": names}}))
    stated = json.loads((sources / "facebookresearch+DeepSDF/examples/chairs/specs.json").read_text())
    places = {"DataSource": str(data / "deepsdf/data"), "TrainSplit": str(data / "deepsdf/split.json")}
    own = {"Description": "Chairs that were made up.", **places, "ScenesPerBatch": 16, "DataLoaderThreads": 4}
    (chairs / "specs.json").write_text(json.dumps({**stated, **own}))
    write_views(sources / "bebeal+mipnerf-pytorch/data/nerf_synthetic/lego", {"train": 6, "test": 3})


if __name__ == "__main__":
    main()
