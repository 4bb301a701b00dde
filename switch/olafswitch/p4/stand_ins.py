"""Olaf's commands under the names of p4c's and BMv2's (``olafswitch drop-in``); how the real ones differ."""

import shutil
from pathlib import Path

NOTE = "# Written by `olafswitch drop-in`: Olaf in the place of"


def is_stand_in(file: Path) -> bool:
    """Whether ``olafswitch drop-in`` wrote ``file``. Raises OSError."""
    with file.open("rb") as opened:
        return NOTE.encode() in opened.read(4096)


def find_real(name: str) -> Path | None:
    """The command that PATH has under ``name``, unless it is a stand-in."""
    found = shutil.which(name)
    return Path(found) if found and not is_stand_in(Path(found)) else None
