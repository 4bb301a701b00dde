"""Find commands that ``olafswitch drop-in`` wrote under the names of p4c's and BMv2's, and the real ones."""

import shutil
from pathlib import Path

NOTE = "# Written by `olafswitch drop-in`: Olaf in the place of"


def is_stand_in(file: Path) -> bool:
    """Return whether ``olafswitch drop-in`` wrote ``file``. Raises OSError."""
    with file.open("rb") as opened:
        return NOTE.encode() in opened.read(4096)


def find_real(name: str) -> Path | None:
    """Return the command that PATH has under ``name``, unless it is a stand-in."""
    found = shutil.which(name)
    return Path(found) if found and not is_stand_in(Path(found)) else None
