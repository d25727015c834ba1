"""What is known of a loop from its source."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    #: Whether the loop has been led there already.
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
    #: Further values of the program that count iterations and have to move together with the others.
    companions: tuple[str, ...] = ()
    #: An attribute that holds an iterator: emptying it is how this loop ends.
    drained: str | None = None
    #: Whether the body puts results aside, so that what follows may depend on the number of iterations.
    collects: bool = False

    def leaves(self) -> list[str]:
        """All that has to be followed to tell what later iterations will do."""
        found = [leaf for branch in self.branches if not branch.is_taken for leaf in branch.condition.leaves]
        if self.condition is not None:
            found += self.condition.leaves
        return list(dict.fromkeys((*found, *self.companions)))
