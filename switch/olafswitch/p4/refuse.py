"""Refusals of the compiler: the place, the construct's name, and the reason."""

from typing import NamedTuple

from olafswitch.errors import BadInput, Problem


class Pos(NamedTuple):
    """A place in the program as its author wrote it; line 0 is the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Refused(BadInput):
    """The program is wrong, or uses ``construct`` in a way that is not supported."""

    def __init__(self, pos: Pos, construct: str, why: str) -> None:
        self.pos, self.construct, self.why = pos, construct, why
        super().__init__(Problem(f"{construct}: {why}", where=str(pos)))
