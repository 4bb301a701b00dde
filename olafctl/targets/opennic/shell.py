"""The differences between the shells around the box, for the agent of a card."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
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
        """Return why the link is down, and the remedy; None when it is up."""


@dataclass(frozen=True)
class Shell:
    """A shell: the place of the box in the card's registers, and the watch over its links."""

    name: str
    box: int
    """The address of the box's first register."""
    open_bar: Callable[[Path], Bar]
    """Open the registers of the PCI Express function in a folder of sysfs."""
    watch_links: Callable[[Bar, int], Callable[[], Sequence[CardLink]]]
    """Returns a function that reads the links of a card with this many front ports."""
