"""What OlafQueue can do with the updates of a cluster: the words of testbeds and the numbers of registers."""

from enum import StrEnum
from typing import Self


class Mode(StrEnum):
    """The treatment of an index's updates (OLAF §4; iSwitch §3, §4), in the order of the numbers, from 0."""

    OLAF = "olaf"
    FIFO = "fifo"
    ISWITCH = "iswitch"
    ISWITCH_ASYNC = "iswitch-async"

    @property
    def number(self) -> int:
        """The mode's number in registers, in the Verilog and in native code."""
        return tuple(Mode).index(self)

    @property
    def sums(self) -> bool:
        """Whether an index adds up its members' contributions until H of them make a result."""
        return self in (Mode.ISWITCH, Mode.ISWITCH_ASYNC)

    @classmethod
    def numbered(cls, number: int) -> Self:
        """Return the mode with a number. Raises ValueError when it does not exist."""
        if not 0 <= number < len(cls):
            raise ValueError(f"{number} is not a mode")
        return tuple(cls)[number]


NUMBERS = ", ".join(f"{mode.number} {mode.name}" for mode in Mode)
"""Every number and its name, for documents and errors."""
WORDS = ", ".join(Mode)
"""Every word, for errors."""
BITS = (len(Mode) - 1).bit_length()
"""The bits of a mode's number."""
