"""Stands in for tiktoken, whose vocabularies come from the network: letters are tokens."""

from __future__ import annotations


class Encoding:
    """Letters as numbers."""

    eot_token = 50256

    def encode(self, text: str, **named: object) -> list[int]:
        """A number a letter."""
        return [ord(letter) % 50_000 for letter in text]

    def decode(self, tokens: list[int]) -> str:
        """Letters again."""
        return "".join(map(chr, tokens))


def get_encoding(name: str) -> Encoding:
    """The same for every name."""
    return Encoding()
