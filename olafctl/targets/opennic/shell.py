"""What differs between the shells that the box is in, as the agent of a card sees it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from olafctl.targets.opennic.bar import Bar
from olafswitch.errors import Problem


class CardLink(Protocol):
    """The link of one of the card's ports."""

    @property
    def port(self) -> int: ...

    @property
    def up(self) -> bool: ...

    def problem(self) -> Problem | None:
        """Return what keeps the link down, and what to do; None when it is up."""


@dataclass(frozen=True)
class Shell:
    """A shell: where the box is in the card's registers, and how its links are looked at."""

    name: str
    box: int
    """The address of the box's first register."""
    watch_links: Callable[[Bar, int], Callable[[], Sequence[CardLink]]]
    """Return what looks at the links of a card with so many front ports."""
