"""Testbeds as an operator names them, checked against the targets that there are."""

import re
from pathlib import Path

from olafctl import testbed
from olafctl.targets import registry
from olafctl.testbed import locate
from olafctl.testbed.model import Testbed

_TARGET = re.compile(r"^target:.*$", re.MULTILINE)

__all__ = ["load", "locate"]


def load(path: Path | str, text: str | None = None, target: str | None = None) -> Testbed:
    """The testbed at ``path``, for ``target`` instead of its own when given.

    See :func:`olafctl.testbed.load`. Raises BadInput.
    """
    if target is not None:
        read = testbed.load(path, text, targets=registry.names()).text
        text, changed = _TARGET.subn(f"target: {target}", read, count=1)
        text = text if changed else f"target: {target}\n{read}"
    return testbed.load(path, text, targets=registry.names())
