"""Testbeds as an operator names them, checked against the targets that there are."""

from pathlib import Path

from olafctl import testbed
from olafctl.targets import registry
from olafctl.testbed import locate
from olafctl.testbed.model import Testbed

__all__ = ["load", "locate"]


def load(path: Path | str, text: str | None = None) -> Testbed:
    """The testbed at ``path``; see :func:`olafctl.testbed.load`. Raises BadInput."""
    return testbed.load(path, text, targets=registry.names())
