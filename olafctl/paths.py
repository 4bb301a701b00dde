"""The place of Olaf's own sources."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_IN_WHEEL = _PACKAGE / "sources"


def sources() -> Path:
    """Return the folder that holds ``p4src``, ``hdl``, ``templates``, ``testbeds`` and ``tests/packets``.

    In a wheel they are inside the package (setup.py puts them there), in a checkout next to it.
    """
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _PACKAGE.parent
