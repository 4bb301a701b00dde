"""How the compiler says no: the place, the construct's name, and why."""

from typing import NamedTuple

from olafctl.errors import BadInput, Problem


class Pos(NamedTuple):
    """A place in the program as its author wrote it."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Refused(BadInput):
    """The program is wrong, or uses ``construct`` in a way that Olaf does not support."""

    def __init__(self, pos: Pos, construct: str, why: str) -> None:
        self.pos, self.construct, self.why = pos, construct, why
        super().__init__(Problem(f"{construct}: {why}", where=str(pos)))
