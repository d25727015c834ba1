"""Sentences in fields, and batches of them."""

from __future__ import annotations

from typing import Any, Iterator


class Vocab:
    """Words and their numbers."""

    def __init__(self, words: list[str]) -> None:
        self.itos, self.stoi = words, {word: at for at, word in enumerate(words)}

    def __len__(self) -> int:
        return len(self.itos)


class Field:
    """One side of the sentences."""

    def __init__(self, words: list[str], pad: str, bos: str, eos: str, unk: str) -> None:
        self.vocab = Vocab(words)
        self.pad_token, self.init_token, self.eos_token, self.unk_token = pad, bos, eos, unk

    def process(self, sentences: list[list[str]], device: Any) -> Any:
        """A column a sentence, as long as the longest."""
        import torch

        longest = max(map(len, sentences)) + 2
        filled = [[self.init_token, *one, self.eos_token, *[self.pad_token] * (longest - 2 - len(one))] for one in sentences]
        numbers = [[self.vocab.stoi.get(word, self.vocab.stoi[self.unk_token]) for word in one] for one in filled]
        return torch.tensor(numbers, dtype=torch.int64, device=device).t().contiguous()


class Example:
    """A pair of sentences."""

    def __init__(self, src: list[str], trg: list[str]) -> None:
        self.src, self.trg = src, trg


class Dataset:
    """Examples with their fields."""

    def __init__(self, examples: list[Example], fields: Any, **named: Any) -> None:
        self.examples, self.fields = examples, dict(fields)

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)

    def __len__(self) -> int:
        return len(self.examples)


class Batch:
    """Tensors of some examples."""

    def __init__(self, examples: list[Example], fields: dict[str, Field], device: Any) -> None:
        for name, field in fields.items():
            setattr(self, name, field.process([getattr(one, name) for one in examples], device))


class BucketIterator:
    """Batches of sentences that are about equally long."""

    def __init__(self, dataset: Dataset, batch_size: int, device: Any = None, **named: Any) -> None:
        self.dataset, self.batch_size, self.device = dataset, batch_size, device

    def __len__(self) -> int:
        return -(-len(self.dataset) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        ordered = sorted(self.dataset.examples, key=lambda one: len(one.src))
        for at in range(0, len(ordered), self.batch_size):
            yield Batch(ordered[at : at + self.batch_size], self.dataset.fields, self.device)
