"""Wrong testbeds: the changes of a right testbed, and every line of their errors.

A case of ``wrong/NAME.txt`` replaces ``OLD => NEW`` in ``wrong/NAME.yaml`` (``all`` is the whole file), both
with Python's escapes. All errors that must follow are below it, each without the file's name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olafctl.targets import registry

_FOLDER = Path(__file__).with_name("wrong")


@dataclass(frozen=True)
class Wrong:
    """The text of a wrong testbed, and its errors."""

    name: str
    text: str
    errors: list[str]


def right(name: str) -> str:
    """Return the testbed that the cases of ``name`` change."""
    return (_FOLDER / f"{name}.yaml").read_text()


RIGHT = right("small")


def _cases(name: str) -> Iterator[Wrong]:
    for case in re.split(r"\n(?! )", (_FOLDER / f"{name}.txt").read_text().rstrip()):
        line, *errors = case.split("\n    ")
        edit = f"{line} ".encode("raw_unicode_escape").decode("unicode_escape")
        old, _, new = edit.partition(" => ")
        old = right(name) if old == "all" else old
        assert right(name).count(old) == 1, f"{line}: must stand once in {name}.yaml"
        yield Wrong(f"{name}: {line}", right(name).replace(old, new[:-1]), errors)


TABLE = [
    *(case for name in ("small", "tree", "racks") for case in _cases(name)),
    Wrong("nested", "[" * 20000, ["1: is nested too deeply (a testbed needs five levels)"]),
    Wrong(
        "huge number",
        RIGHT.replace("slots: 8", f"slots: 1{'0' * 4000}"),
        [f"5: engine.slots: '1{'0' * 59}…' is out of range (give a number from 1 to 1023)"],
    ),
    Wrong(
        "unknown target",
        RIGHT.replace("target: twin", "target: twim"),
        [f"2: target: 'twim' is not one of {', '.join(registry.target_names())} (did you mean twin?)"],
    ),
]
