"""Load testbeds as an operator names them, checked against the existing targets."""

import re
from pathlib import Path

from olafctl.targets import registry
from olafctl.testbed.load import load_testbed as read
from olafctl.testbed.locate import locate_testbed
from olafctl.testbed.model import Testbed

_TARGET = re.compile(r"^target:.*$", re.MULTILINE)

__all__ = ["load_testbed", "locate_testbed"]


def load_testbed(path: Path | str, text: str | None = None, target: str | None = None) -> Testbed:
    """Return the testbed at ``path``, for ``target`` instead of its own when given.

    See :func:`olafctl.testbed.load.load_testbed`. Raises BadInput.
    """
    if target is not None:
        own = read(path, text, targets=registry.target_names()).text
        text, changed = _TARGET.subn(f"target: {target}", own, count=1)
        text = text if changed else f"target: {target}\n{own}"
    return read(path, text, targets=registry.target_names())
