"""How far words are from each other."""

from __future__ import annotations


def edit_distance(one: str, other: str) -> int:
    """How many letters are to be changed, put in or left out."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for place, found in enumerate(other, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (letter != found))
    return row[-1]
