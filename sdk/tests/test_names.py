"""Names that examples and documents give in full exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = [
    path for where in ("*.md", "docs/**/*.md", "sdk/*.md", "sdk/examples/*.py") for path in ROOT.glob(where)
]
OTHERS = {"json", "npz", "proto", "targets", "v1", "verbs"}
"""Names of files, of entry points and of the daemon's API."""


def said() -> list[str]:
    names = {
        name
        for path in TEXTS
        for name in re.findall(r"(?<![\w/.-])olaf(?:\.[A-Za-z]\w*)+(?![\w/@-])", path.read_text())
    }
    return sorted(name for name in names if name.split(".")[1] not in OTHERS and ".v1." not in name)


def test_there_are_names() -> None:
    assert {"olaf.Worker", "olaf.Publisher", "olaf.torch.importance"} <= set(said())


@pytest.mark.parametrize("name", said())
def test_it_exists(name: str) -> None:
    here, at = import_module("olaf"), "olaf"
    for part in name.split(".")[1:]:
        at += f".{part}"
        try:
            here = getattr(here, part) if hasattr(here, part) else import_module(at)
        except ImportError as missing:
            assert not (missing.name or "").startswith("olaf"), name
            return  # torch or Ray, which this installation lacks
