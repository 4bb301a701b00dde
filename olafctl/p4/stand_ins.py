"""Olaf's commands under the names of p4c's and BMv2's (``olafctl p4 drop-in``), told from the real ones."""

import shutil
from pathlib import Path

NOTE = "# Written by `olafctl p4 drop-in`: Olaf in the place of"


def is_stand_in(file: Path) -> bool:
    """Whether ``olafctl p4 drop-in`` wrote ``file``. Raises OSError."""
    with file.open("rb") as opened:
        return NOTE.encode() in opened.read(4096)


def real(name: str) -> Path | None:
    """The command that PATH has under ``name``, unless it is a stand-in."""
    found = shutil.which(name)
    return Path(found) if found and not is_stand_in(Path(found)) else None
