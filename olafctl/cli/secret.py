"""Secrets that options read from files."""

from pathlib import Path

from olafswitch.errors import BadInput, Problem

_LEAST = 16


def read_token(file: Path) -> str:
    """Return the token in ``file``. Raises BadInput when others may read it, or it has fewer than 16
    characters."""
    if file.stat().st_mode & 0o077:
        raise BadInput(Problem("others may read the token", str(file), f"chmod 600 {file}"))
    try:
        found = file.read_text().strip()
    except UnicodeDecodeError:
        what = "holds no text"
        raise BadInput(Problem(what, str(file), "write one line, as from: openssl rand -hex 32")) from None
    if len(found) < _LEAST:
        raise BadInput(Problem("is too short for a token", str(file), f"give {_LEAST} characters or more"))
    return found
