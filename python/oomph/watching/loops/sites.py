"""What is known of a loop from its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .conditions import Condition


@dataclass(eq=False)
class Branch:
    """A branch of an `if` in the body of a loop that only some iterations take."""

    #: When it is taken.
    condition: Condition
    #: What it does to the loop: `stays`, `breaks` (a lone `break`), or `leaves` (more than that, or a `return`).
    effect: str
    #: Whether an iteration has taken it.
    is_taken: bool = False
    #: Whether a loop has been led there already.
    is_tried: bool = False


@dataclass(eq=False)
class Site:
    """One loop of a file."""

    file: str
    line: int
    #: The function it stands in, `<module>` outside any.
    function: str
    #: `for`, `while` or `comprehension`.
    statement: str
    #: The variable that counts, where the loop has one that its iterator gives: `i` of `for i, x in ...`.
    index: str | None = None
    #: Whether the index is the first of several values.
    is_index_first: bool = False
    #: When a `while` ends; None where it never does by itself or nobody can tell.
    condition: Condition | None = None
    branches: list[Branch] = field(default_factory=list)
    #: The branches of loops inside of this one.
    inner_branches: list[Branch] = field(default_factory=list)
    #: Further values of the program that count iterations and have to move together with the others.
    companions: tuple[str, ...] = ()
    #: Asked what follows when it would be ended, with the variables of its function: `nothing`, its own `end`, `more`.
    on_end: Callable[[Mapping[str, Any]], str] | None = None
    #: Whether the body puts results aside, so that what follows may depend on the number of iterations.
    collects: bool = False

    def leaves(self) -> list[str]:
        """All that has to be followed to tell what later iterations will do."""
        branches = (*self.branches, *self.inner_branches)
        found = [leaf for branch in branches if not branch.is_taken for leaf in branch.condition.leaves]
        if self.condition is not None:
            found += self.condition.leaves
        if found and self.index is not None:
            found.append(self.index)
        return list(dict.fromkeys((*found, *self.companions)))
